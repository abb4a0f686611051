/** The schema of settings: an organisation and its applications. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import * as z from 'zod';
import { errorMessage, expecting, shown } from '../contract/error-messages.ts';
import { slugify } from '../contract/slug.ts';
import type { InputIssue } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';

/** One or more certificates, or a key, in PEM form. */
export type Pem = string | Buffer;

/** For a receiver whose certificate Node does not trust, or that requires a client certificate. */
export interface ApplicationTls {
  /** Trusted CAs. Default: Node's own. */
  readonly ca?: Pem | readonly Pem[] | undefined;
  /** Client certificate. Needs `key`. */
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
}

/** One application. Has both `url` and `secret`, or neither: an agent that only enqueues needs none. */
export interface ApplicationSettings {
  /** Required for format 1, whose incidents contain it. Default in test messages: the application's id. */
  readonly name?: string | undefined;
  /** Required for format 1, too. Default in test messages: the empty string. */
  readonly environment?: string | undefined;
  /** Absolute, http or https, without credentials. */
  readonly url?: string | undefined;
  /** The key of the signature, not empty; a function is called before every attempt. */
  readonly secret?: string | (() => string | Promise<string>) | undefined;
  /** Only modules set to true send. Default: all modules send. */
  readonly modules?: Readonly<Record<string, boolean>> | undefined;
  /** Only playbooks set to true send, by name or slug. Default: all playbooks send. */
  readonly playbooks?: Readonly<Record<string, boolean>> | undefined;
  readonly tls?: ApplicationTls | undefined;
  /** With `false` nothing is sent: messages are accepted and wait until their horizon. Default true. */
  readonly enabled?: boolean | undefined;
  /** Maximum number of requests per second, for all processes that share a queue. 0.001 to 1000000; default no limit. */
  readonly maxRequestsPerSecond?: number | undefined;
  /**
   * Maximum number of messages per second, for all processes that share a queue. A request contains at most
   * the messages of one second. 0.001 to 1000000; default no limit.
   */
  readonly maxMessagesPerSecond?: number | undefined;
}

/** Format 1 is deprecated. */
export type OrganisationFormat = 1 | 2;

export interface Settings {
  /** For all applications. Default 2. */
  readonly format?: OrganisationFormat | undefined;
  /** By id, which is `application_id` or `application.id` in a message. */
  readonly applications: Readonly<Record<string, ApplicationSettings>>;
}

/** An application with its organisation's format. Returned by a settings function. */
export interface OrganisedApplication extends ApplicationSettings {
  /** Default 2. */
  readonly format?: OrganisationFormat | undefined;
}

export type ReadSettings<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly InputIssue[] };

/** Levels of objects to copy: the application, then its `modules`, `playbooks` and `tls`. */
const APPLICATION_LEVELS = 2;

/**
 * Validates a copy of `input`, and returns the copy or all faults, which contain no secret and no URL.
 * Throws what a getter in `input` throws.
 *
 * Objects of the copy have no prototype, both before and after validation: a key of a polluted prototype
 * must not become a `secret`. `levels` is how deep it copies; default: all levels of an application.
 */
export function readWith<T>(
  schema: z.ZodType<T>,
  input: unknown,
  levels = APPLICATION_LEVELS,
): ReadSettings<T> {
  const result = schema.safeParse(ownCopy(input, levels), { error: errorMessage });
  if (result.success) return { ok: true, value: ownCopy(result.data, levels) as T };
  // Other properties of zod's issues may contain the input.
  const issues = result.error.issues.map(({ path, message }) => ({ path, message }));
  return { ok: false, issues };
}

/** Schemas are functions in this file, so that importing it creates none. */
export const applicationSchema = (): z.ZodType<ApplicationSettings> =>
  bothOrNeither(z.strictObject({ ...applicationShape(), ...keptTls() }), 'url', 'secret');

/** For settings that are kept, `kept` is {@link keptTls}. */
export const organisedApplicationSchema = (
  kept: Partial<ReturnType<typeof keptTls>> = {},
): z.ZodType<OrganisedApplication> =>
  bothOrNeither(
    z.strictObject({ ...applicationShape(), ...kept, format: formatSchema() }),
    'url',
    'secret',
  );

/** The `application` of a sender with one destination. */
export const namedApplicationSchema = () =>
  z
    .strictObject({
      id: z.string().min(1),
      name: z.string().optional(),
      environment: z.string().optional(),
    })
    .optional();

/** Incidents of format 1 have both (D43). */
const NAMES = ['name', 'environment'] as const;

/** Like {@link readWith}, and requires the names that format 1 needs. Default `format`: the input's own. */
export function readNamed<T>(
  schema: z.ZodType<T>,
  input: unknown,
  format?: OrganisationFormat,
): ReadSettings<T> {
  if (!isObject(input)) return readWith(schema, input);
  const own = ownProperties<OrganisedApplication>(input);
  const read = readWith(schema, own);
  if ((format ?? own.format) !== 1) return read;
  const missing = NAMES.filter((name) => own[name] === undefined).map((name) => ({
    path: [name],
    message: `expected ${name} for format 1, found nothing`,
  }));
  if (missing.length === 0) return read;
  return { ok: false, issues: [...(read.ok ? [] : read.issues), ...missing] };
}

export const formatSchema = () => z.literal([1, 2]).default(2);

/** `parseWebhookUrl` validates the URL when sending. */
export const applicationShape = () => ({
  name: z.string().optional(),
  environment: z.string().optional(),
  url: z.string().min(1).optional(),
  secret: secret().optional(),
  modules: selection('modules').optional(),
  playbooks: playbooks().optional(),
  tls: tls().optional(),
  enabled: z.boolean().optional(),
  maxRequestsPerSecond: perSecond().optional(),
  maxMessagesPerSecond: perSecond().optional(),
});

/** `abort: false`: otherwise zod would skip the checks of the surrounding object. */
const checked = <T>(isUsable: (value: unknown) => boolean, expected: string) =>
  z.custom<T>(isUsable, { error: expecting(expected), abort: false });

const secret = () =>
  checked<NonNullable<ApplicationSettings['secret']>>(
    (value) => typeof value === 'function' || (typeof value === 'string' && value !== ''),
    'a non-empty string or a function that returns one',
  );

const notARate = ({ input }: z.core.$ZodRawIssue): string =>
  `expected a number from 0.001 to 1000000, found ${shown(input)}`;

const perSecond = () =>
  z.number({ error: notARate }).min(0.001, { error: notARate }).max(1_000_000, { error: notARate });

const selection = (what: string) =>
  z.record(z.string(), z.boolean(), {
    error: expecting(`an object of ${what}, each true or false`),
  });

/** Returns why a slug cannot select a playbook: it is empty, or one of the `others`. */
export function playbookFault(
  slug: string,
  others: { readonly has: (slug: string) => boolean },
): string | undefined {
  if (slug === '') return 'expected the name of a playbook to have a letter or a digit';
  if (!others.has(slug)) return undefined;
  return 'expected each playbook once, found another name with the same slug';
}

/** Converts names to slugs. */
const playbooks = () =>
  selection('playbooks').transform((given, ctx) => {
    const bySlug = new Map<string, boolean>();
    for (const [name, isSelected] of Object.entries(given)) {
      const slug = slugify(name);
      const message = playbookFault(slug, bySlug);
      if (message === undefined) bySlug.set(slug, isSelected);
      else ctx.issues.push({ code: 'custom', message, path: [name], input: given });
    }
    return Object.fromEntries(bySlug);
  });

/** OpenSSL ignores other text, such as the path of a file, so that no certificate would be trusted or sent. */
const isPem = (value: unknown): boolean =>
  (typeof value === 'string' && value.includes(PEM_HEADER)) ||
  (ArrayBuffer.isView(value) &&
    Buffer.from(value.buffer, value.byteOffset, value.byteLength).includes(PEM_HEADER));

const PEM_HEADER = '-----BEGIN ';
const PEM_TEXT = 'PEM with "-----BEGIN …" (the text, not a path) as a string or a Buffer';

const pemCopy = (value: Pem): Pem => (typeof value === 'string' ? value : Buffer.from(value));

// With explicit types: the inferred `Buffer<ArrayBufferLike>` needs TypeScript 5.7.
const pem = (): z.ZodType<Pem, Pem> => checked<Pem>(isPem, PEM_TEXT).transform(pemCopy);

const pems = (): z.ZodType<Pem | readonly Pem[], Pem | readonly Pem[]> =>
  checked<Pem | readonly Pem[]>(
    // An empty list would trust no certificate.
    (value) => isPem(value) || (Array.isArray(value) && value.length > 0 && value.every(isPem)),
    `${PEM_TEXT}, or a non-empty array of them`,
  ).transform((value) =>
    typeof value === 'string' || ArrayBuffer.isView(value) ? pemCopy(value) : value.map(pemCopy),
  );

const tls = () =>
  bothOrNeither(
    z.strictObject({ ca: pems().optional(), cert: pem().optional(), key: pem().optional() }),
    'cert',
    'key',
  );

/** Also reads the certificate and its key. That takes too long for each look-up of a settings function. */
export const keptTls = () => {
  /** The last correct pair: many applications may have the same. */
  let last: ApplicationTls = {};
  const checkPair = ({ value, issues }: z.core.ParsePayload<ApplicationTls>): void => {
    const { cert, key } = value;
    if (cert === undefined || key === undefined || issues.length > 0) return;
    if (cert === last.cert && key === last.key) return;
    const fault = faultOfPair(cert, key);
    if (fault === undefined) last = { cert, key };
    else issues.push({ code: 'custom', input: undefined, ...fault });
  };
  return { tls: tls().check(checkPair).optional() };
};

function faultOfPair(cert: Pem, key: Pem): { path: string[]; message: string } | undefined {
  const certificate = unlessUnreadable(() => new X509Certificate(cert));
  if (certificate === undefined) {
    return { path: ['cert'], message: 'expected a certificate, found unreadable PEM' };
  }
  const privateKey = unlessUnreadable(() => createPrivateKey(key));
  if (privateKey === undefined) {
    const message = 'expected a private key without passphrase, found another or unreadable PEM';
    return { path: ['key'], message };
  }
  if (certificate.checkPrivateKey(privateKey)) return undefined;
  return { path: ['key'], message: 'expected the private key of cert, found another' };
}

/** OpenSSL's errors are not passed on: they may name the content. */
function unlessUnreadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Requires both keys or none. Reported at the missing key, together with all other faults. */
export const bothOrNeither = <S extends z.ZodType>(schema: S, one: string, other: string): S =>
  schema.check(needs(one, other), needs(other, one));

export const needs = (given: string, needed: string) =>
  z.refine((value) => !has(value, given) || has(value, needed), {
    path: [needed],
    error: `expected ${needed} beside ${given}, found nothing`,
    when: () => true,
  });

/** Own keys only: values have no prototype before validation, but zod's results have one. */
const has = (value: unknown, key: string): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key);

/** Not iterables: a Map has no keys, and would count as empty settings. */
export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(Symbol.iterator in value);

function ownCopy(value: unknown, levels: number): unknown {
  if (levels === 0 || !isObject(value)) return value;
  const copy: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, element] of Object.entries(value)) {
    // A key whose value is undefined counts as absent.
    if (element !== undefined) copy[key] = ownCopy(element, levels - 1);
  }
  return copy;
}
