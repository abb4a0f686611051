/** Organisation and applications: where messages go, and which (D60). */
import * as z from 'zod';
import { slugify } from '../contract/slug.ts';
import { expecting, shown, wording } from '../contract/wording.ts';
import type { InputIssue } from '../errors.ts';

/** One or more certificates, or a key, in PEM form. */
export type Pem = string | Buffer;

/** For a receiver whose certificate Node does not trust, or that asks for one of ours. */
export interface ApplicationTls {
  /** Trusted in the place of Node's own CAs. */
  readonly ca?: Pem | readonly Pem[] | undefined;
  /** Shown to a receiver that asks for one. `cert` and `key` come together or not at all. */
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
}

/**
 * One application. `url` and `secret` come together or not at all: an agent that only enqueues
 * needs neither.
 */
export interface ApplicationSettings {
  /** Required for format 1, whose incidents have both. Default in test messages: the application's id. */
  readonly name?: string | undefined;
  /** Likewise. Default in test messages: the empty string. */
  readonly environment?: string | undefined;
  /** Absolute, http or https, without credentials; used as it is (D33). */
  readonly url?: string | undefined;
  /** The key of the signature, not empty; a function is asked for it before every attempt. */
  readonly secret?: string | (() => string | Promise<string>) | undefined;
  /** Absent: all modules send. Given: those set to true do. */
  readonly modules?: Readonly<Record<string, boolean>> | undefined;
  /** Likewise, by a playbook's name or slug (D16). */
  readonly playbooks?: Readonly<Record<string, boolean>> | undefined;
  readonly tls?: ApplicationTls | undefined;
  /** With `false` nothing is sent: messages are accepted and wait until their horizon. Default true. */
  readonly enabled?: boolean | undefined;
  /** Maximum number of requests per second, for all processes that share a queue. 0.001 to 1000000; default no limit. */
  readonly maxRequestsPerSecond?: number | undefined;
  /**
   * Maximum number of messages per second, for all processes that share a queue. A request has at most those of one
   * second. 0.001 to 1000000; default no limit.
   */
  readonly maxMessagesPerSecond?: number | undefined;
}

/** 1 is deprecated (D40). */
export type OrganisationFormat = 1 | 2;

export interface Settings {
  /** Of all applications. Default 2. */
  readonly format?: OrganisationFormat | undefined;
  /** By id: what `application_id`, or `application.id`, is in a message. */
  readonly applications: Readonly<Record<string, ApplicationSettings>>;
}

/** An application with its organisation's format; what a settings function answers. */
export interface OrganisedApplication extends ApplicationSettings {
  /** Default 2. */
  readonly format?: OrganisationFormat | undefined;
}

/** Checks one kind of settings; see {@link readWith}. */
export type SettingsSchema<T> = z.ZodType<T>;

export type ReadSettings<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly issues: readonly InputIssue[] };

/** Settings, applications, one of them, its `modules`, `playbooks` or `tls`. */
const LEVELS = 4;

/**
 * A copy of `input` as `schema` reads it, or all its faults, which hold no secret and no URL. Throws
 * what a getter within `input` throws.
 *
 * Objects of the copy have no prototype, before the schema looks at them and after: what an attack
 * put on Object.prototype must not become a `secret`, nor a key that nobody gave. `levels` of objects
 * are such; by default all that settings have.
 */
export function readWith<T>(
  schema: SettingsSchema<T>,
  input: unknown,
  levels = LEVELS,
): ReadSettings<T> {
  const result = schema.safeParse(ownCopy(input, levels), { error: wording });
  if (result.success) return { ok: true, value: ownCopy(result.data, levels) as T };
  // Copied: an issue of zod's may hold more than its path and message.
  const issues = result.error.issues.map(({ path, message }) => ({ path, message }));
  return { ok: false, issues };
}

/** Schemas are made by functions, so that importing this file makes none. */
export const settingsSchema = (): SettingsSchema<Settings> =>
  withNames(
    z.strictObject({
      format: format(),
      applications: z.record(z.string(), complete(z.strictObject(applicationShape())), {
        error: expecting('an object of application ids and applications'),
      }),
    }),
  ) satisfies SettingsSchema<Settings>;

export const organisedApplicationSchema = (): SettingsSchema<OrganisedApplication> =>
  complete(z.strictObject({ ...applicationShape(), format: format() })).check((ctx) => {
    for (const issue of missingNames(ctx.value, ctx.value.format)) addIssue(ctx, issue);
  });

type Names = Pick<ApplicationSettings, 'name' | 'environment'>;

interface WithNames {
  readonly format?: OrganisationFormat | undefined;
  readonly applications: Readonly<Record<string, Names>>;
}

/** Returns an issue for each name that the format needs: incidents of format 1 have both (D43). */
export function missingNames(application: Names, ofFormat?: OrganisationFormat): InputIssue[] {
  if (ofFormat !== 1) return [];
  return (['name', 'environment'] as const)
    .filter((name) => application[name] === undefined)
    .map((name) => ({ path: [name], message: `expected ${name} for format 1, found nothing` }));
}

/** Checks the names of all applications of a format. */
export const withNames = <S extends z.ZodType<WithNames>>(schema: S): S =>
  schema.check((ctx) => {
    const { applications, format: ofAll = 2 } = ctx.value;
    for (const [id, application] of Object.entries(applications)) {
      for (const { path, message } of missingNames(application, ofAll)) {
        addIssue(ctx, { path: ['applications', id, ...path], message });
      }
    }
  });

function addIssue(ctx: z.core.ParsePayload, { path, message }: InputIssue): void {
  ctx.issues.push({ code: 'custom', path: [...path], message, input: ctx.value });
}

export const format = () => z.literal([1, 2]).default(2);

/** Whether the URL can be used is judged by `parseWebhookUrl` of src/webhook/http, when sending. */
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

/** `abort: false`, for zod's default would leave the checks of the object around it undone. */
const checked = <T>(isUsable: (value: unknown) => boolean, expected: string) =>
  z.custom<T>(isUsable, { error: expecting(expected), abort: false });

const secret = () =>
  checked<NonNullable<ApplicationSettings['secret']>>(
    (value) => typeof value === 'function' || (typeof value === 'string' && value !== ''),
    'a non-empty string or a function that gives one',
  );

const perSecond = () => {
  const error = ({ input }: z.core.$ZodRawIssue): string =>
    `expected a number from 0.001 to 1000000, found ${shown(input)}`;
  return z.number({ error }).min(0.001, { error }).max(1_000_000, { error });
};

const selection = (what: string) =>
  z.record(z.string(), z.boolean(), {
    error: expecting(`an object of ${what}, each true or false`),
  });

/** D60: by slug, whichever of the two a playbook is called by. */
const playbooks = () =>
  selection('playbooks').transform((given, ctx) => {
    const bySlug = new Map<string, boolean>();
    for (const [name, isSelected] of Object.entries(given)) {
      const slug = slugify(name);
      const message =
        (slug === '' && 'expected the name of a playbook to have a letter or a digit') ||
        (bySlug.has(slug) && 'expected each playbook once, found another name of the same slug');
      if (message === false) bySlug.set(slug, isSelected);
      else ctx.issues.push({ code: 'custom', message, path: [name], input: given });
    }
    return Object.fromEntries(bySlug);
  });

const isPem = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '') ||
  (ArrayBuffer.isView(value) && value.byteLength > 0);

const pemCopy = (value: Pem): Pem => (typeof value === 'string' ? value : Buffer.from(value));

// Named results: `Buffer<ArrayBufferLike>`, which would be inferred, is none to TypeScript below 5.7.
const pem = (): z.ZodType<Pem, Pem> =>
  checked<Pem>(isPem, 'PEM as a string or a Buffer').transform(pemCopy);

const pems = (): z.ZodType<Pem | readonly Pem[], Pem | readonly Pem[]> =>
  checked<Pem | readonly Pem[]>(
    // An empty list would trust nobody.
    (value) => isPem(value) || (Array.isArray(value) && value.length > 0 && value.every(isPem)),
    'PEM as a string or a Buffer, or a non-empty array of them',
  ).transform((value) =>
    typeof value === 'string' || ArrayBuffer.isView(value) ? pemCopy(value) : value.map(pemCopy),
  );

const tls = () =>
  together(
    z.strictObject({ ca: pems().optional(), cert: pem().optional(), key: pem().optional() }),
    'cert',
    'key',
  );

const complete = <S extends z.ZodType>(application: S): S => together(application, 'url', 'secret');

/** Both keys or none; told beside all other faults, at the key that is missing. */
export const together = <S extends z.ZodType>(schema: S, one: string, other: string): S =>
  schema.check(needs(one, other), needs(other, one));

export const needs = (given: string, needed: string) =>
  z.refine((value) => !has(value, given) || has(value, needed), {
    path: [needed],
    error: `expected ${needed} beside ${given}, found nothing`,
    when: () => true,
  });

/** Of its own: values without a prototype reach the schema, but what it makes has one. */
const has = (value: unknown, key: string): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key);

/** Iterables are no objects of keys: a Map has none, and would be no settings at all. */
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !(Symbol.iterator in value);

function ownCopy(value: unknown, levels: number): unknown {
  if (levels === 0 || !isObject(value)) return value;
  const copy: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, element] of Object.entries(value)) {
    // D0: a key whose value is undefined counts as absent.
    if (element !== undefined) copy[key] = ownCopy(element, levels - 1);
  }
  return copy;
}
