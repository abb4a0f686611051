/** `settingsCache`: caches the results of a settings function. */
import type { SecurityEventError } from '../errors.ts';
import {
  A_FUNCTION,
  integer,
  invalidOption,
  MAX_TIMER_MS,
  type OptionsOf,
  type OptionValues,
  option,
  optional,
  readOptions,
} from '../option-rules.ts';
import { BoundedMap } from '../runtime/bounded-map.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { ignoreRejection, tryCall } from '../runtime/host-calls.ts';
import { withSettingsTimeout } from '../runtime/timers.ts';
import { untraced } from '../runtime/untraced.ts';
import type { OrganisedApplication } from './schema.ts';
import { publish } from './settings-events.ts';
import {
  createSettings,
  IS_CHECKED,
  type SettingsFunction,
  type SettingsReader,
} from './source.ts';

/**
 * By default a delivery waits 5 s before its first retry and 30 s before its second. So with the default
 * `maxAgeMs` an outdated URL or secret costs a message at most two attempts. An application in use is looked
 * up at most twice a minute.
 */
const OPTIONS = {
  /**
   * Time for which a result is used without another look-up, in ms: a change may go unnoticed for that long.
   * 0 to 2147483647; default 30000. "Not found" is cached for at most 5 s.
   */
  maxAgeMs: option<number>(integer(0, MAX_TIMER_MS), 30_000),
  /**
   * Time for which the last good result is used while look-ups fail, in ms since its look-up. 0 to
   * 2147483647; default 3600000.
   */
  maxStaleMs: option<number>(integer(0, MAX_TIMER_MS), 3_600_000),
  /** Maximum time of a look-up, in ms. 1 to 2147483647; default 5000. */
  deadlineMs: option<number>(integer(1, MAX_TIMER_MS), 5000),
  /** Maximum number of cached applications; the oldest is dropped first. 1 to 1000000; default 10000. */
  maxApplications: option<number>(integer(1, 1_000_000), 10_000),
  /** Called each time a look-up fails. Its errors and rejections are ignored. Default: none. */
  onFailed: optional<(error: SecurityEventError, applicationId: string) => void>(A_FUNCTION),
} as const;

export interface SettingsCacheOptions extends OptionsOf<typeof OPTIONS> {}

/** Short, so that a new application is found soon, without a look-up for each message. */
const UNKNOWN_MAX_AGE_MS = 5000;
/** Pause after a failed look-up: while a database is down, not every message should wait for it. */
const RETRY_MS = 5000;

/** A source for the option `settings`. Any number of senders may share it. */
export type CachedSettings = (applicationId: string) => Promise<OrganisedApplication | undefined>;

/**
 * Creates a source of settings that caches the valid results of `get`. Concurrent calls share one look-up.
 * While look-ups fail, by an error, an invalid result or a timeout, the last good result is used for a
 * limited time. The last argument is for tests.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`. Without a good result the source rejects with that code
 * for a result that is no application, and with `ERR_SETTINGS_FAILED` if the look-up failed.
 */
export function settingsCache(
  get: SettingsFunction,
  options: SettingsCacheOptions = {},
  clock: Clock = systemClock,
): CachedSettings {
  if (typeof get !== 'function') throw invalidOption('expected get to be a function', ['get']);
  const cache = new SettingsCache(get, readOptions(options, OPTIONS), clock);
  return Object.assign((applicationId: string) => cache.find(applicationId), {
    [IS_CHECKED]: true,
  });
}

type Found = OrganisedApplication | undefined;

interface Entry {
  result: { readonly value: Found; readonly startedAtMs: number } | undefined;
  /** No look-up before this time. */
  freshUntilMs: number;
  pending: Promise<Found> | undefined;
}

class SettingsCache {
  readonly #get: SettingsReader['find'];
  readonly #limits: OptionValues<typeof OPTIONS>;
  readonly #clock: Clock;
  readonly #entries: BoundedMap<string, Entry>;
  readonly #lookUpInTime: (applicationId: string) => Promise<Found>;

  constructor(get: SettingsFunction, limits: OptionValues<typeof OPTIONS>, clock: Clock) {
    this.#get = createSettings(get).find;
    this.#limits = limits;
    this.#entries = new BoundedMap(limits.maxApplications);
    this.#clock = clock;
    const limit = { clock, ms: limits.deadlineMs };
    this.#lookUpInTime = withSettingsTimeout((id) => this.#lookUp(id), limit);
  }

  async find(applicationId: string): Promise<Found> {
    const entry = this.#entryOf(applicationId);
    if (entry.result !== undefined && this.#clock.monotonicMs() < entry.freshUntilMs) {
      return entry.result.value;
    }
    // Outside the request's context, since all callers share the result.
    entry.pending ??= untraced(() => this.#refresh(applicationId, entry));
    return entry.pending;
  }

  #entryOf(applicationId: string): Entry {
    const known = this.#entries.get(applicationId);
    if (known !== undefined) return known;
    const entry: Entry = { result: undefined, freshUntilMs: 0, pending: undefined };
    this.#entries.set(applicationId, entry);
    return entry;
  }

  async #refresh(applicationId: string, entry: Entry): Promise<Found> {
    try {
      return await this.#lookUpInTime(applicationId);
    } catch (error) {
      return this.#useStale(applicationId, entry, error as SecurityEventError);
    } finally {
      entry.pending = undefined;
      const isCurrent = this.#entries.get(applicationId) === entry;
      if (isCurrent && entry.result === undefined) this.#entries.delete(applicationId);
    }
  }

  /** Also caches a result that arrives after the deadline. */
  async #lookUp(applicationId: string): Promise<Found> {
    const startedAtMs = this.#clock.monotonicMs();
    const value = await this.#get(applicationId);
    // The entry may have been dropped or replaced meanwhile.
    const entry = this.#entryOf(applicationId);
    const { result } = entry;
    if (result !== undefined && result.startedAtMs > startedAtMs) return result.value;
    const { maxAgeMs } = this.#limits;
    const ageMs = value === undefined ? Math.min(maxAgeMs, UNKNOWN_MAX_AGE_MS) : maxAgeMs;
    entry.result = { value, startedAtMs };
    entry.freshUntilMs = startedAtMs + ageMs;
    this.#entries.set(applicationId, entry);
    return value;
  }

  /** Never uses a stale "not found": the application may have been added since. */
  #useStale(applicationId: string, entry: Entry, error: SecurityEventError): Found {
    const { maxStaleMs, onFailed } = this.#limits;
    const now = this.#clock.monotonicMs();
    const { value, startedAtMs } = entry.result ?? { value: undefined, startedAtMs: 0 };
    const isKept = value !== undefined && now - startedAtMs <= maxStaleMs;
    publish('settings-failed', { source: 'function', applicationId, code: error.code, isKept });
    tryCall(() => ignoreRejection(onFailed?.(error, applicationId)));
    if (isKept) {
      entry.freshUntilMs = Math.min(now + RETRY_MS, startedAtMs + maxStaleMs);
      return value;
    }
    throw error;
  }
}
