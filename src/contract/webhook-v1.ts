/** The webhook element of the deprecated format 1: `svc_payload_type`, then content without envelope (D41 to D45). */
import * as z from 'zod';
import { type Dialect, fields, type Mode, type Reading, tolerated, word } from './dialect.ts';
import { byWord, dispatch, hasAny } from './dispatch.ts';
import { expecting } from './error-messages.ts';
import { list } from './list.ts';
import { nullable } from './nullable.ts';
import { timestamp, without } from './primitives.ts';
import { PULSE_GENRES, SVC_PAYLOAD_TYPES } from './vocabulary.ts';
import { responseFields, securityEvent, testFields } from './webhook-message.ts';

const accountKey = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(mode, {
    name: z.string(),
    value: z
      .union([z.string(), z.number(), z.boolean()], {
        error: expecting('a string, a number, a boolean or null'),
      })
      .nullable(),
  });

/** Optional fields of events that only format 1 has (D42). */
const eventExtras = <R extends Reading>(mode: Mode<Dialect, R>) => ({
  risk: z.int().optional(),
  application_account_account_id: z.string().optional(),
  application_account_account_keys: list(accountKey(mode)).optional(),
  application_account_url: z.string().optional(),
});

const namedEvent = <R extends Reading, N extends z.core.$ZodLooseShape>(
  mode: Mode<Dialect, R>,
  names: N,
) =>
  securityEvent(
    mode,
    { svc_payload_type: z.literal('security_event') },
    { ...eventExtras(mode), id: z.string().optional(), url: z.string().optional(), ...names },
  );

const usesAlias = (input: unknown, name: string, alias: string): boolean =>
  hasAny(input, [alias]) && !hasAny(input, [name]);

const byId = () => ({ ...without(['event_id']), id: z.string() });
const byUrl = () => ({ ...without(['event_url']), url: z.string() });
const optionalApplication = () => ({ application_id: z.string().optional() });

/** Real senders use `id` and `url`, and omit the application: accepted when received (D41). */
const securityEventV1 = <R extends Reading>(mode: Mode<Dialect, R>) =>
  tolerated(
    mode,
    namedEvent(mode, {}),
    dispatch(
      (input) =>
        (usesAlias(input, 'event_id', 'id') ? 1 : 0) +
        (usesAlias(input, 'event_url', 'url') ? 2 : 0),
      [
        namedEvent(mode, optionalApplication()),
        namedEvent(mode, { ...optionalApplication(), ...byId() }),
        namedEvent(mode, { ...optionalApplication(), ...byUrl() }),
        namedEvent(mode, { ...optionalApplication(), ...byId(), ...byUrl() }),
      ],
    ),
  );

const testV1 = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(mode, {
    svc_payload_type: z.literal('test'),
    ...testFields(mode),
    application_id: z.string().optional(),
    id: z.string().optional(),
    url: z.string().optional(),
    ...eventExtras(mode),
  });

/** The fields of a pulse except its type (D43). */
export const pulseDetails = <D extends Dialect, R extends Reading>(mode: Mode<D, R>) => ({
  pulse_genre: word(mode, PULSE_GENRES),
  pulse_category: nullable(z.string()),
  date_started: timestamp(),
  date_ended: nullable(timestamp()),
  humanized_title: z.string(),
  humanized_accounts: nullable(z.string()),
  humanized_geos: nullable(z.string()),
  blocked: z.boolean(),
  application_id: z.string(),
  application_name: z.string(),
  environment: z.string(),
  id: z.string(),
  url: z.string(),
  incidents_count: z.int(),
  user_agents_count: z.int(),
  ip_addresses_count: z.int(),
  accounts_count: z.int(),
});

const pulse = <D extends Dialect, R extends Reading>(mode: Mode<D, R>) =>
  fields(mode, { svc_payload_type: z.literal('pulse'), ...pulseDetails(mode) });

/** `id` is the message's id: any string, or null (D41). */
const securityResponseV1 = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(mode, {
    id: nullable(z.string()),
    svc_payload_type: z.literal('security_response'),
    date_created: timestamp(),
    ...responseFields(mode),
  });

export const webhookMessageV1 = <D extends Dialect, R extends Reading>(mode: Mode<D, R>) =>
  dispatch(byWord('svc_payload_type', SVC_PAYLOAD_TYPES), [
    securityEventV1(mode),
    pulse(mode),
    securityResponseV1(mode),
    testV1(mode),
  ]);

export type MessageV1Schema<D extends Dialect, R extends Reading> = ReturnType<
  typeof webhookMessageV1<D, R>
>;
