/** Validates the arguments of a configuration, and warns about risky ones. */
import { slugify } from '../contract/slug.ts';
import { ANYTHING, invalidOption, oneOf, type Rules, TEXT, usable } from '../option-rules.ts';
import { timeSchema } from '../settings/scheduled-secret.ts';
import { isObject, playbookFault } from '../settings/schema.ts';
import type {
  DestinationWarning,
  RotationOptions,
  SecretChoice,
  Selection,
  WebhookChoice,
} from './configuration.ts';

export const WEBHOOK_RULES: Rules<keyof WebhookChoice> = {
  // Validated by `checkSecret`, with its own error code.
  secret: ANYTHING,
  name: TEXT,
  environment: TEXT,
};

export const SECRET_RULES: Rules<keyof SecretChoice> = { of: oneOf('draft', 'current', 'next') };

export const ROTATION_RULES: Rules<keyof RotationOptions> = {
  from: usable(
    'a Date before the year 10000, or ISO 8601 with an offset',
    (value) => timeSchema().safeParse(value).success,
  ),
  secret: ANYTHING,
};

/** Would be lost silently when settings are read. */
const UNUSABLE_KEY = '__proto__';

export function checkId(applicationId: unknown): string {
  if (typeof applicationId !== 'string' || applicationId === '') {
    throw invalidOption('expected applicationId to be a non-empty string', ['applicationId']);
  }
  if (applicationId !== UNUSABLE_KEY) return applicationId;
  throw invalidOption(`${UNUSABLE_KEY} cannot be an applicationId`, ['applicationId']);
}

/** Validates a selection. Returns a copy, with playbooks by slug. */
export function checkSelection(given: unknown, what: 'modules' | 'playbooks'): Selection {
  if (given === 'all') return given;
  if (!isObject(given)) throw invalidOption(`expected ${what} to be 'all' or an object`, [what]);
  const selection = new Map<string, boolean>();
  for (const [name, isSelected] of Object.entries(given)) {
    const fail = (detail: string) => invalidOption(detail, [what, name]);
    if (name === UNUSABLE_KEY) throw fail(`${name} cannot be one of ${what}`);
    if (typeof isSelected !== 'boolean') throw fail(`expected each of ${what} to be true or false`);
    const key = what === 'playbooks' ? slugify(name) : name;
    const fault = what === 'playbooks' ? playbookFault(key, selection) : undefined;
    if (fault !== undefined) throw fail(fault);
    selection.set(key, isSelected);
  }
  return Object.fromEntries(selection);
}

const MIN_SECRET_BYTES = 16;

export function warningsAbout(secret: string, url?: URL): readonly DestinationWarning[] {
  const warnings: DestinationWarning[] = [];
  if (url?.protocol === 'http:') warnings.push('plain-http');
  if (Buffer.byteLength(secret) < MIN_SECRET_BYTES) warnings.push('short-secret');
  if (secret.trim() !== secret) warnings.push('space-around-secret');
  return warnings;
}
