/** What a poster may be given, checked when it is made. */
import type { Dispatcher } from 'undici';
import { SecurityEventError } from '../../errors.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Deadlines } from './attempt-limits.ts';
import type { NetworkPolicy } from './ssrf-guard.ts';

type GivenDeadlines = { readonly [Name in keyof Deadlines]?: Deadlines[Name] | undefined };

export interface PosterOptions {
  /** Which addresses may be connected to (D77). */
  readonly network: NetworkPolicy;
  /** The host's own, for a proxy say. It chooses addresses itself: only with `'delegated'`. */
  readonly dispatcher?: Dispatcher | undefined;
  /** Default: 5 s to connect, 15 s to the response headers, 20 s in all (D76). */
  readonly deadlines?: GivenDeadlines | undefined;
  /** Bytes of response body that are read to keep the connection. Default 8192; 0 is legal. */
  readonly maxResponseBytes?: number | undefined;
  /** Connections kept for later requests, to all receivers together. Default 256; 0 is legal. */
  readonly maxIdleConnections?: number | undefined;
  readonly clock: Clock;
}

/** The same with its defaults. */
export interface PosterSettings extends PosterOptions {
  readonly deadlines: Deadlines;
  readonly maxResponseBytes: number;
  readonly maxIdleConnections: number;
}

const DEFAULT_DEADLINES: Deadlines = { connectMs: 5000, headersMs: 15_000, totalMs: 20_000 };

/** D76 */
const DEFAULT_MAX_RESPONSE_BYTES = 8192;

const DEFAULT_MAX_IDLE_CONNECTIONS = 256;

/** The longest wait that a timer of Node's can hold; a longer one would be over at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

type Range = readonly [min: number, max: number];
const DEADLINE_RANGE_MS: Range = [1, MAX_TIMER_MS];
const COUNT_RANGE: Range = [0, Number.MAX_SAFE_INTEGER];

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. */
export function checkPosterOptions(options: PosterOptions): PosterSettings {
  const maxResponseBytes = options.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES;
  const maxIdleConnections = options.maxIdleConnections ?? DEFAULT_MAX_IDLE_CONNECTIONS;
  checkInteger(maxResponseBytes, COUNT_RANGE, ['maxResponseBytes']);
  checkInteger(maxIdleConnections, COUNT_RANGE, ['maxIdleConnections']);
  checkDispatcher(options);
  const deadlines = checkedDeadlines(options.deadlines ?? {});
  return { ...options, maxResponseBytes, maxIdleConnections, deadlines };
}

function checkedDeadlines(given: GivenDeadlines): Deadlines {
  const deadlines: Deadlines = {
    connectMs: given.connectMs ?? DEFAULT_DEADLINES.connectMs,
    headersMs: given.headersMs ?? DEFAULT_DEADLINES.headersMs,
    totalMs: given.totalMs ?? DEFAULT_DEADLINES.totalMs,
  };
  for (const [name, ms] of Object.entries(deadlines)) {
    checkInteger(ms, DEADLINE_RANGE_MS, ['deadlines', name]);
  }
  return deadlines;
}

function checkInteger(value: number, [min, max]: Range, path: readonly string[]): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  throw invalidOption(path, `${path.join('.')} must be an integer from ${min} to ${max}`);
}

function checkDispatcher({ dispatcher, network }: PosterOptions): void {
  if (dispatcher === undefined) return;
  if (network !== 'delegated') {
    throw invalidOption(['network'], "a dispatcher of your own needs network: 'delegated'");
  }
  if (typeof dispatcher.request !== 'function') {
    throw invalidOption(['dispatcher'], 'dispatcher must have the request method of undici');
  }
}

function invalidOption(path: readonly string[], detail: string): SecurityEventError {
  return new SecurityEventError('ERR_INVALID_OPTION', { detail, path });
}
