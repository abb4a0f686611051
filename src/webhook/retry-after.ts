/** The Retry-After header: RFC 9110 section 10.2.3, its dates section 5.6.7. */

const SECOND_MS = 1000;

/** D71: a receiver that asks for more is taken to ask for this. */
export const MAX_RETRY_AFTER_MS = 24 * 60 * 60 * SECOND_MS;

const MONTHS = [
  'Jan',
  'Feb',
  'Mar',
  'Apr',
  'May',
  'Jun',
  'Jul',
  'Aug',
  'Sep',
  'Oct',
  'Nov',
  'Dec',
] as const;

const DELAY_SECONDS = /^\d+$/;
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)';
const DATE = '(?<day>0[1-9]|[12]\\d|3[01])';
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hour>[01]\\d|2[0-3]):(?<minute>[0-5]\\d):(?<second>[0-5]\\d|60)';

/** IMF-fixdate, then the two obsolete forms that a recipient must still take. */
const HTTP_DATES = [
  new RegExp(`^${DAY}, ${DATE} ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, ${DATE}-${MONTH}-(?<year>\\d\\d) ${TIME} GMT$`),
  new RegExp(`^${DAY} ${MONTH} (?<day> [1-9]|[12]\\d|3[01]) ${TIME} (?<year>\\d{4})$`),
] as const;

/**
 * How long the receiver asks to wait, in milliseconds: 0 for a date that is past, at most 24 h.
 * `undefined` without a header and for what is neither whole seconds nor an HTTP date.
 *
 * `now` is in milliseconds since the epoch.
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const waitMs = DELAY_SECONDS.test(text) ? Number(text) * SECOND_MS : waitUntil(text, now);
  return waitMs === undefined ? undefined : Math.min(Math.max(0, waitMs), MAX_RETRY_AFTER_MS);
}

function waitUntil(text: string, now: number): number | undefined {
  for (const form of HTTP_DATES) {
    const fields = form.exec(text)?.groups;
    if (fields !== undefined) return dateOf(fields, now) - now;
  }
  return undefined;
}

type DateFields = Readonly<Record<string, string>>;

/** A leap second, and a 31st in a shorter month, roll over to what follows. */
function dateOf(fields: DateFields, now: number): number {
  const month = MONTHS.indexOf(fields['month'] as (typeof MONTHS)[number]);
  const [day = 0, hour = 0, minute = 0, second = 0] = ['day', 'hour', 'minute', 'second'].map(
    (name) => Number(fields[name]),
  );
  return Date.UTC(yearOf(fields['year'] ?? '', now), month, day, hour, minute, second);
}

/** Two digits mean the one such year that is at most 50 years ahead (section 5.6.7). */
function yearOf(digits: string, now: number): number {
  const year = Number(digits);
  if (digits.length === 4) return year;
  const latest = new Date(now).getUTCFullYear() + 50;
  return latest - ((latest - year) % 100);
}
