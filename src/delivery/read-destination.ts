/** Where a sender sends, checked: one destination as it is given becomes settings of its own. */
import { SecurityEventError } from '../errors.ts';
import { check, invalidOption, type Rules } from '../option-rules.ts';
import { organisedApplicationSchema, readWith } from '../settings/schema.ts';
import { IS_CHECKED, type SettingsSource } from '../settings/source.ts';
import { type NetworkPolicy, refuseLiteralAddress } from '../webhook/http/ssrf-guard.ts';
import { parseWebhookUrl } from '../webhook/http/webhook-url.ts';
import { checkSecret } from '../webhook/signature.ts';
import { DESTINATION_OPTION_TABLE } from './option-table.ts';
import type { ManyDestinations, OneDestination } from './options.ts';

type Given = Partial<OneDestination> &
  Partial<ManyDestinations> & { readonly network?: NetworkPolicy };
type Application = NonNullable<OneDestination['application']>;

const OWN_OPTIONS = Object.keys(DESTINATION_OPTION_TABLE).filter(
  (name): name is keyof OneDestination => name !== 'settings',
);

const TEXT = { expected: 'a string', isUsable: (value: unknown) => typeof value === 'string' };

const APPLICATION_RULES: Rules<keyof Application> = {
  id: { expected: 'a non-empty string', isUsable: (id) => TEXT.isUsable(id) && id !== '' },
  name: TEXT,
  environment: TEXT,
};

/**
 * Settings as they are given; they are read by `createSettings`.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`, `ERR_INVALID_URL`, `ERR_ADDRESS_REFUSED` or
 * `ERR_INVALID_SECRET`; its `path` names what is at fault.
 */
export function sourceOf(given: Given): SettingsSource {
  const { settings } = given;
  if (settings === undefined) return oneDestination(given);
  const extra = OWN_OPTIONS.find((name) => given[name] !== undefined);
  if (extra === undefined) return settings;
  throw invalidOption(`${extra} belongs into settings where settings are given`, [extra]);
}

/** Everything is found now, and not at the first message. */
function oneDestination(given: Given): SettingsSource {
  const { url, secret, application, format = 2, tls, network = 'public' } = given;
  refuseLiteralAddress(parseWebhookUrl(url as string), network);
  checkSecret(secret);
  const { id, ...names } = application === undefined ? ANYBODY : readApplication(application);
  const destination = { ...names, url, secret, tls, format };
  const read = readWith(organisedApplicationSchema(), destination);
  if (!read.ok) throw new SecurityEventError('ERR_INVALID_OPTION', { issues: read.issues });
  const { value } = read;
  const find = (applicationId: string) =>
    id === undefined || id === applicationId ? value : undefined;
  // Not again with each call, which took a quarter as long as accepting a message.
  return Object.assign(find, { [IS_CHECKED]: true });
}

const ANYBODY = { id: undefined, name: '', environment: '' };

function readApplication(given: unknown): Application {
  const path = ['application'];
  const application = check<Application>(given, APPLICATION_RULES, { name: 'application', path });
  for (const [name, { expected }] of Object.entries(APPLICATION_RULES)) {
    if (application[name as keyof Application] === undefined) {
      throw invalidOption(`expected application.${name} to be ${expected}`, [...path, name]);
    }
  }
  return application as Application;
}
