/** Scalar formats that both channels use, with their error messages. */
import * as z from 'zod';
import { lazyValue } from '../lazy-value.ts';
import {
  type Dialect,
  type Fields,
  fields,
  type Mode,
  narrowed,
  type Reading,
  type Tolerated,
  tolerated,
} from './dialect.ts';
import { dispatch, hasAny, isObject, type ZodDispatch } from './dispatch.ts';
import { expecting } from './error-messages.ts';
import { CIDRV6_PATTERN, IPV6_PATTERN } from './ipv6-pattern.ts';

/** A text in a format. The error names the format for a missing value and other types, too. */
export const textLike = (pattern: RegExp, what: string): z.ZodString => {
  const error = expecting(what);
  return z.string({ error }).regex(pattern, { error });
};

/** A calendar date that exists, leap years included. */
const DATE =
  '(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29' +
  '|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)' +
  '|02-(?:0[1-9]|1\\d|2[0-8])))';
const HOUR_AND_MINUTE = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const TIMESTAMP = new RegExp(
  `^${DATE}T${HOUR_AND_MINUTE}:[0-5]\\d(?:\\.\\d+)?(?:Z|[+-]${HOUR_AND_MINUTE})$`,
);

/** An ISO 8601 date-time with seconds and an offset or `Z` (D2, D23). */
export const timestamp = (): z.ZodString =>
  textLike(TIMESTAMP, 'an ISO 8601 date-time with an offset, such as …+00:00');

// The expression semver.org recommends, without named groups.
const SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$/;

/** A SemVer 2.0.0 version (D3). */
export const semver = (): z.ZodString => textLike(SEMVER, 'a SemVer 2.0.0 version');

const ABSOLUTE_URL = /^[A-Za-z][A-Za-z0-9+.-]*:\S+$/;

/** An absolute URL or URN: a scheme, a colon, and no white space. */
export const absoluteUrl = (): z.ZodString => textLike(ABSOLUTE_URL, 'an absolute URL');

const ipv4 = (): z.ZodType<string, string> => z.ipv4({ error: expecting('an IPv4 address') });
const ipv6 = (): z.ZodType<string, string> =>
  z.ipv6({ error: expecting('an IP address') }).meta({ pattern: IPV6_PATTERN });

const indexOfFamily = (input: unknown): number =>
  typeof input === 'string' && input.includes(':') ? 1 : 0;

/** Any IP address, v4 or v6 (D28). */
export const ipAddress = (): z.ZodType<string, string> =>
  dispatch(indexOfFamily, [z.ipv4({ error: expecting('an IP address') }), ipv6()]);

/** IPv4 in the strict dialect, any IP address in the open one (D14). */
export const channelAAddress = (mode: Mode): z.ZodType<string, string> =>
  mode.dialect === 'strict' ? ipv4() : ipAddress();

const cidrV6 = lazyValue(() => new RegExp(CIDRV6_PATTERN));

const cidr = (): z.ZodType<string, string> => {
  const error = expecting('a CIDR such as 203.0.113.9/32');
  return dispatch(
    indexOfFamily,
    // zod's cidrv6 accepts any number as mask, such as 1.5.
    [z.cidrv4({ error }), z.string().regex(cidrV6(), { error })],
  );
};

/** A CIDR with its mask; when received also a bare address (D29). */
export const ipCidr = <R extends Reading>(
  mode: Mode<Dialect, R>,
): Tolerated<R, z.ZodType<string, string>, z.ZodType<string, string>> =>
  tolerated(
    mode,
    cidr(),
    dispatch(
      (input) => (typeof input === 'string' && input.includes('/') ? 0 : 1),
      [cidr(), ipAddress()],
    ),
  );

const ALPHA_3 = /^[A-Z]{3}$/;

/** A country: an ISO 3166-1 alpha-3 code; when received any string (D12, D28). */
export const countryCode = (mode: Mode): z.ZodType<string, string> =>
  narrowed(mode, textLike(ALPHA_3, 'a country code of three capital letters'), z.string());

type EmptyShape<K extends string> = Record<K, z.ZodOptional<z.ZodNever>>;

/** The shape of an object that has none of `keys`. */
export const without = <const K extends readonly string[]>(keys: K): EmptyShape<K[number]> =>
  Object.fromEntries(keys.map((key) => [key, z.never().optional()])) as EmptyShape<K[number]>;

/** Empty or complete: an object with any key of `shape` must have all of them (D4, D12, D28). */
export const emptyOr = <R extends Reading, S extends z.core.$ZodLooseShape>(
  mode: Mode<Dialect, R>,
  shape: S,
): ZodDispatch<readonly [Fields<R, EmptyShape<keyof S & string>>, Fields<R, S>]> => {
  const keys = Object.keys(shape) as (keyof S & string)[];
  return dispatch(
    (input) => (isObject(input) && !hasAny(input, keys) ? 0 : 1),
    [fields(mode, without(keys)), fields(mode, shape)],
  );
};

interface Renaming {
  readonly from: string;
  readonly to: string;
  /** Whether the key `from` is kept as well. */
  readonly keep?: boolean;
}

/**
 * Accepts `canonical`, or the same object with the key `from` instead of `to`; the output is canonical (C in
 * docs/contract.md). `alias` is the schema of the object with `from`. If both keys are present, `to` counts.
 */
export const renamed = <C extends z.ZodType, A extends z.ZodType>(
  canonical: C,
  alias: A,
  { from, to, keep = false }: Renaming,
): z.ZodType<z.output<C>, z.input<C> | z.input<A>> => {
  const rename = (value: unknown): unknown => {
    const { [from]: name, ...rest } = value as Record<string, unknown>;
    return { ...rest, ...(keep ? { [from]: name } : {}), [to]: name };
  };
  return dispatch(
    (input) => (hasAny(input, [from]) && !hasAny(input, [to]) ? 1 : 0),
    [canonical, alias.transform(rename).pipe(canonical as never)],
  );
};
