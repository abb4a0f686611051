/** The options of `listen`, read. */
import type { OptionTable, OptionValues } from '../command.ts';
import { misuse } from '../failure.ts';
import { durationOf, integerOf } from '../option-values.ts';
import { SECRETS_OPTIONS } from '../secrets.ts';
import { type AnswerPlan, answerPlanOf } from './answer-plan.ts';

export const LISTEN_OPTIONS = {
  port: { type: 'string', value: 'N', what: 'where to listen; 0 takes any that is free (8080)' },
  host: { type: 'string', value: 'HOST', what: 'address to listen at (127.0.0.1: this machine)' },
  path: { type: 'string', value: 'PATH', what: 'the only path that is not refused (any)' },
  ...SECRETS_OPTIONS,
  fail: {
    type: 'string',
    value: 'STATUS,…',
    what: 'answers the next genuine requests with these in turn; 503+ repeats the last one',
  },
  delay: {
    type: 'string',
    value: 'TIME',
    what: 'waits before each answer, such as 500ms or 20s (0)',
  },
  forward: {
    type: 'string',
    value: 'URL',
    what: 'hands on what is genuine, as it came in, and answers what that answers',
  },
  'forward-unverified': {
    type: 'boolean',
    what: 'with --forward: hands on what is not genuine, too',
  },
  count: { type: 'string', value: 'N', what: 'ends after so many requests' },
  once: { type: 'boolean', what: 'the same as --count 1' },
  json: { type: 'boolean', what: 'prints one line of JSON for each message' },
} as const satisfies OptionTable;

export interface ListenSettings {
  readonly port: number;
  readonly host: string;
  readonly path: string | undefined;
  readonly plan: AnswerPlan | undefined;
  readonly delayMs: number;
  readonly forwardTo: URL | undefined;
  readonly forwardsUnverified: boolean;
  /** No end where it is absent. */
  readonly count: number | undefined;
  readonly isJson: boolean;
}

type Given = OptionValues<typeof LISTEN_OPTIONS>;

const DEFAULT_PORT = 8080;
/** Far above what any sender waits. */
const MAX_DELAY_MS = 3_600_000;

/** @throws CommandFailure with exit code 2 */
export function listenSettings(given: Given): ListenSettings {
  const { host = '127.0.0.1', path, fail, forward } = given;
  if (host === '') throw misuse('--host must be an address or a name');
  if (path !== undefined && !path.startsWith('/')) throw misuse('--path must begin with /');
  if (fail !== undefined && forward !== undefined) {
    throw misuse('--fail and --forward cannot be used together: each decides on the answer');
  }
  if (given['forward-unverified'] === true && forward === undefined) {
    throw misuse('--forward-unverified needs --forward');
  }
  return {
    port: given.port === undefined ? DEFAULT_PORT : integerOf('port', given.port, [0, 65_535]),
    host,
    path,
    plan: fail === undefined ? undefined : answerPlanOf(fail),
    delayMs: delayOf(given.delay),
    forwardTo: forward === undefined ? undefined : targetOf(forward),
    forwardsUnverified: given['forward-unverified'] === true,
    count: countOf(given),
    isJson: given.json === true,
  };
}

function delayOf(text: string | undefined): number {
  const delayMs = text === undefined ? 0 : durationOf('delay', text);
  if (delayMs > MAX_DELAY_MS) throw misuse('--delay must be at most 1h');
  return delayMs;
}

function countOf({ count, once }: Given): number | undefined {
  if (count !== undefined && once === true) throw misuse('--count and --once say the same');
  if (once === true) return 1;
  return count === undefined ? undefined : integerOf('count', count, [1, 1_000_000_000]);
}

/** Not quoted in what is told: it may hold a password. */
function targetOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw misuse('--forward must be an absolute http or https URL');
  }
  if (url.username !== '' || url.password !== '') {
    throw misuse('--forward must not hold credentials');
  }
  return url;
}
