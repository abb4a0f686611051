/** The content of webhook messages by kind, without the envelope (D26 to D30). */
import * as z from 'zod';
import {
  type Dialect,
  fields,
  type Mode,
  narrowed,
  openWord,
  type Reading,
  tolerated,
} from './dialect.ts';
import { dispatch } from './dispatch.ts';
import { jsonObject } from './free-form.ts';
import { list } from './list.ts';
import {
  absoluteUrl,
  countryCode,
  emptyOr,
  ipAddress,
  ipCidr,
  renamed,
  timestamp,
  without,
} from './primitives.ts';
import { EVENT_CATEGORIES, EVENT_KINDS, INCIDENT_STATUSES } from './vocabulary.ts';

/** Empty, or code and point `[longitude, latitude]`, and optionally city (D28). */
const geo = <R extends Reading>(mode: Mode<Dialect, R>) =>
  emptyOr(mode, {
    city: z.string().optional(),
    code: countryCode(mode),
    point: z.tuple([z.number(), z.number()]),
  });

/** Real senders omit geo or is_tor: accepted when received (D28). */
const resolvedIp = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(mode, {
    address: ipAddress(),
    date_resolved: timestamp(),
    geo: tolerated(mode, geo(mode), geo(mode).optional()),
    is_tor: tolerated(mode, z.boolean(), z.boolean().optional()),
  });

const relatedIp = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(mode, {
    address: ipAddress(),
    date_resolved: timestamp(),
    geo: geo(mode),
    is_tor: z.boolean(),
    vpn: z.boolean(),
    proxy: z.boolean(),
    datacenter: z.boolean(),
    metadata: fields(mode, {
      version: z.int(),
      multicast: z.boolean(),
      private: z.boolean(),
      global: z.boolean(),
      unspecified: z.boolean(),
      reserved: z.boolean(),
      loopback: z.boolean(),
    }),
    tags: list(z.string()),
  });

const compromisedAccount = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(mode, {
    svc_id: z.string(),
    user_identifiers: jsonObject(),
    ip_address: z.string(),
  });

/** A security event's fields (D26). */
const eventFields = <R extends Reading>(mode: Mode<Dialect, R>) => ({
  application_id: z.string(),
  application_name: z.string(),
  environment: z.string(),
  date_occurred: timestamp(),
  event_category: openWord(EVENT_CATEGORIES),
  event_id: z.string(),
  event_kind: openWord(EVENT_KINDS),
  event_url: absoluteUrl(),
  humanized_description: z.string(),
  ips: list(resolvedIp(mode)),
});

/** A security event, alone (v2) or flattened into more keys (v1, D41): `before` are first, `after` last. */
export const securityEvent = <
  R extends Reading,
  B extends z.core.$ZodLooseShape,
  A extends z.core.$ZodLooseShape,
>(
  mode: Mode<Dialect, R>,
  before: B,
  after: A,
) => {
  const shape = { ...before, ...eventFields(mode), ...after };
  // The contract's samples misspell the date (D27).
  const misspelled = { ...shape, ...without(['date_occurred']), date_occured: timestamp() };
  return renamed(fields(mode, shape), fields(mode, misspelled), {
    from: 'date_occured',
    to: 'date_occurred',
  });
};

/** Real messages have a risk; the library only sends it if the caller sets it (D81). */
export const riskCoefficient = <R extends Reading>(mode: Mode<Dialect, R>) => ({
  risk_coefficient: narrowed(mode, z.int().min(0).max(100), z.int()).optional(),
});

/** The content of a security response (D29). */
export const responseFields = <R extends Reading>(mode: Mode<Dialect, R>) => ({
  application: fields(mode, {
    name: z.string(),
    environment: z.string(),
    id: z.string(),
  }),
  properties: fields(mode, {
    ips: list(fields(mode, { ip_cidr: ipCidr(mode) })),
    user_identifiers: list(
      tolerated(
        mode,
        jsonObject(),
        dispatch((input) => (typeof input === 'string' ? 0 : 1), [z.string(), jsonObject()]),
      ),
    ),
  }),
  playbook: fields(mode, { name: z.string(), id: z.string() }),
});

/** A test message. The contract does not describe one, so the fields are this library's own (D30). */
export const testFields = <R extends Reading>(mode: Mode<Dialect, R>) => ({
  application_id: tolerated(mode, z.string(), z.string().optional()),
  application_name: z.string(),
  environment: z.string(),
  id: z.string(),
  event_category: openWord(['test']),
  event_kind: openWord(['test_kind']),
  date_occurred: timestamp(),
  humanized_description: z.string(),
  url: z.string(),
  ips: list(resolvedIp(mode)),
});

export const incident = <R extends Reading, A extends z.core.$ZodLooseShape>(
  mode: Mode<Dialect, R>,
  accounts: A,
) =>
  fields(mode, {
    incident_thread: z.string(),
    incident_status: z.enum(INCIDENT_STATUSES),
    date_started: timestamp(),
    date_last_updated: timestamp(),
    application_id: z.string(),
    new_related_ips: list(relatedIp(mode)),
    ...accounts,
  });

export const accounts = <R extends Reading>(mode: Mode<Dialect, R>) => ({
  new_compromised_accounts: list(compromisedAccount(mode)).optional(),
});

type Accounts<R extends Reading> = ReturnType<typeof accounts<R>>;

/** When emitted, only account takeovers have accounts; a received incident of any type may have them (D29). */
export const accountsOfOtherIncidents = <R extends Reading>(mode: Mode<Dialect, R>) =>
  (mode.reading === 'emitted' ? {} : accounts(mode)) as R extends 'emitted'
    ? Record<never, never>
    : Accounts<R>;
