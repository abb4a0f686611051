/** The context of a log record: who (actor), how (http), where (service). */
import * as z from 'zod';
import {
  type Dialect,
  type Fields,
  fields,
  type Mode,
  narrowed,
  type Reading,
  tolerated,
  word,
} from './dialect.ts';
import { dispatch } from './dispatch.ts';
import { expecting } from './error-messages.ts';
import { jsonObject, jsonObjectOrArray, scalarObject } from './free-form.ts';
import { lazySchema } from './lazy-schema.ts';
import { nullable } from './nullable.ts';
import { channelAAddress, countryCode, emptyOr, textLike } from './primitives.ts';
import { SCHEMES, VERBS } from './vocabulary.ts';

const degrees = (mode: Mode, limit: number): z.ZodType<number, number> =>
  narrowed(mode, z.number().min(-limit).max(limit), z.number());

/** The location of an address: empty, or all four fields (D12). */
const geo = <R extends Reading>(mode: Mode<Dialect, R>) =>
  emptyOr(mode, {
    city: z.string(),
    country_code: countryCode(mode),
    latitude: degrees(mode, 90),
    longitude: degrees(mode, 180),
  });

/** Facts from the address registries (D13). */
const ipMetadata = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(mode, {
    datacenter: nullable(fields(mode, { name: z.string(), url: z.string() })),
    global: z.boolean(),
    loopback: z.boolean(),
    multicast: z.boolean(),
    network_type: z.string(),
    private: z.boolean(),
    proxy: z.boolean(),
    reserved: z.boolean(),
    tor: z.boolean(),
    unspecified: z.boolean(),
    version: z.literal([4, 6]),
    vpn: z.boolean(),
  });

// RFC 4648 section 4, padded.
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** When emitted, values are strings, numbers or booleans (D10). */
const identifiers = <R extends Reading>(mode: Mode<Dialect, R>) =>
  nullable(tolerated(mode, scalarObject(), jsonObject()));

const IP_EXPECTED = expecting(
  'an object with address, geo and metadata (a reporter also accepts an address as text)',
);

const ip = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(
    mode,
    {
      address: channelAAddress(mode),
      geo: geo(mode),
      metadata: ipMetadata(mode),
    },
    (issue) => (issue.code === 'invalid_type' ? IP_EXPECTED(issue) : undefined),
  );

/** Schema of an address with its facts alone. */
export const addressFacts = lazySchema(() => ip({ dialect: 'open', reading: 'emitted' }));

const actor = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(mode, {
    identifiers: identifiers(mode),
    ip: ip(mode),
    svc_identifier: nullable(narrowed(mode, textLike(BASE64, 'padded base64'), z.string())),
  });

const PORT_DIGITS = /^(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/;

/** A port: when emitted, 1 to 65535 (D7). */
const port = (mode: Mode): z.ZodType<number, number> =>
  narrowed(mode, z.int().min(1).max(65_535), z.int());

/** A string of digits; a number is accepted, and written as a string (D6). */
const remotePort = (mode: Mode): z.ZodType<string, string | number> =>
  dispatch(
    (input) => (typeof input === 'number' ? 1 : 0),
    [
      narrowed(mode, textLike(PORT_DIGITS, 'a port, 1 to 65535, in digits'), z.string()),
      port(mode).transform(String),
    ],
  );

/** In the open dialect `json` may also be an array (D9, D0). */
const parameters = <R extends Reading>(mode: Mode<Dialect, R>) =>
  fields(mode, {
    form: jsonObjectOrArray().optional(),
    json: (mode.dialect === 'strict' ? jsonObject() : jsonObjectOrArray()).optional(),
    other: jsonObject().optional(),
    query: jsonObject().optional(),
  });

/** The request: `{}` if it is unknown, otherwise complete (D4). */
const request = <D extends Dialect, R extends Reading>(mode: Mode<D, R>) =>
  emptyOr(mode, {
    host: z.string(),
    parameters: parameters(mode).optional(),
    path: z.string(),
    port: port(mode),
    // May be absent; always written as null (D5).
    referer: z.null().default(null),
    remote_ip: channelAAddress(mode),
    remote_port: remotePort(mode),
    scheme: word(mode, SCHEMES),
    user_agent: z.string(),
    verb: word(mode, VERBS),
  });

const http = <D extends Dialect, R extends Reading>(mode: Mode<D, R>) =>
  fields(mode, {
    request: request(mode),
    response: fields(mode, {
      blocked: z.boolean(),
      status: narrowed(mode, z.int().min(100).max(599), z.int()).optional(),
    }),
  });

const service = <R extends Reading>(
  mode: Mode<Dialect, R>,
): Fields<R, { env: z.ZodString; name: z.ZodString; svc_id: z.ZodString }> =>
  fields(mode, { env: z.string(), name: z.string(), svc_id: z.string() });

/** Only `service` is required (D4). */
export const context = <D extends Dialect, R extends Reading>(mode: Mode<D, R>) =>
  fields(mode, {
    actor: actor(mode).optional(),
    http: http(mode).optional(),
    service: service(mode),
  });
