/** `settingsCache`: caches the results of a settings function. */
import { SecurityEventError } from '../errors.ts';
import {
  A_FUNCTION,
  check,
  integer,
  invalidOption,
  MAX_TIMER_MS,
  type Rules,
} from '../option-rules.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { ignoreRejection } from '../runtime/ignore-rejection.ts';
import { untraced } from '../runtime/untraced.ts';
import type { OrganisedApplication } from './schema.ts';
import { publish } from './settings-events.ts';
import {
  createSettings,
  IS_CHECKED,
  type SettingsFunction,
  type SettingsReader,
} from './source.ts';

export interface SettingsCacheOptions {
  /**
   * Time for which a result is used without another look-up, in ms: a change may go unnoticed for that long.
   * 0 to 2147483647; default 30000. "Not found" is cached for at most 5 s.
   */
  readonly maxAgeMs?: number;
  /**
   * Time for which the last good result is used while look-ups fail, in ms since its look-up. 0 to
   * 2147483647; default 3600000.
   */
  readonly maxStaleMs?: number;
  /** Maximum time of a look-up, in ms. 1 to 2147483647; default 5000. */
  readonly deadlineMs?: number;
  /** Maximum number of cached applications; the oldest is dropped first. 1 to 1000000; default 10000. */
  readonly maxApplications?: number;
  /** Called each time a look-up fails. Its errors and rejections are ignored. Default: none. */
  readonly onFailed?: (error: SecurityEventError, applicationId: string) => void;
}

const OPTION_RULES: Rules<keyof SettingsCacheOptions> = {
  maxAgeMs: integer(0, MAX_TIMER_MS),
  maxStaleMs: integer(0, MAX_TIMER_MS),
  deadlineMs: integer(1, MAX_TIMER_MS),
  maxApplications: integer(1, 1_000_000),
  onFailed: A_FUNCTION,
};

/**
 * Retries begin after 5 s, 30 s and 2 min, so an outdated URL or secret costs a message two attempts. And
 * an application in use is looked up at most twice a minute.
 */
const DEFAULTS = {
  maxAgeMs: 30_000,
  maxStaleMs: 3_600_000,
  deadlineMs: 5000,
  maxApplications: 10_000,
} as const;

/** Short, so that a new application is found soon, without a look-up for each message. */
const UNKNOWN_MAX_AGE_MS = 5000;
/** Pause after a failed look-up: while a database is down, not every message should wait for it. */
const RETRY_MS = 5000;

/** A source for the option `settings`. Any number of senders may share it. */
export type CachedSettings = (applicationId: string) => Promise<OrganisedApplication | undefined>;

/**
 * Creates a source of settings that caches the valid results of `get`. Concurrent calls share one look-up.
 * While look-ups fail, by an error, an invalid result or a timeout, the last good result is used for a
 * limited time.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`. Without a good result the source rejects with that code
 * for a result that is no application, and with `ERR_SETTINGS_FAILED` if the look-up failed.
 */
export function settingsCache(
  get: SettingsFunction,
  options: SettingsCacheOptions = {},
): CachedSettings {
  return cacheSettings(get, options, systemClock);
}

export function cacheSettings(get: unknown, options: unknown, clock: Clock): CachedSettings {
  if (typeof get !== 'function') throw invalidOption('expected get to be a function', ['get']);
  const given = check<SettingsCacheOptions>(options, OPTION_RULES);
  const cache = new SettingsCache(get as SettingsFunction, limitsOf(given), clock);
  return Object.assign((applicationId: string) => cache.find(applicationId), {
    [IS_CHECKED]: true,
  });
}

const limitsOf = (given: SettingsCacheOptions): Limits => ({
  maxAgeMs: given.maxAgeMs ?? DEFAULTS.maxAgeMs,
  maxStaleMs: given.maxStaleMs ?? DEFAULTS.maxStaleMs,
  deadlineMs: given.deadlineMs ?? DEFAULTS.deadlineMs,
  maxApplications: given.maxApplications ?? DEFAULTS.maxApplications,
  onFailed: given.onFailed,
});

type Found = OrganisedApplication | undefined;

interface Entry {
  result: { readonly value: Found; readonly startedAtMs: number } | undefined;
  /** No look-up before this time. */
  freshUntilMs: number;
  pending: Promise<Found> | undefined;
}

type Limits = Required<Omit<SettingsCacheOptions, 'onFailed'>> & {
  readonly onFailed: SettingsCacheOptions['onFailed'] | undefined;
};

class SettingsCache {
  readonly #get: SettingsReader['find'];
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(get: SettingsFunction, limits: Limits, clock: Clock) {
    this.#get = createSettings(get).find;
    this.#limits = limits;
    this.#clock = clock;
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
    this.#put(applicationId, entry);
    return entry;
  }

  /** Puts the entry at the end, as the newest. */
  #put(applicationId: string, entry: Entry): void {
    this.#entries.delete(applicationId);
    this.#entries.set(applicationId, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.maxApplications) return;
      this.#entries.delete(oldest);
    }
  }

  async #refresh(applicationId: string, entry: Entry): Promise<Found> {
    try {
      return await this.#withDeadline(this.#lookUp(applicationId), applicationId);
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
    this.#put(applicationId, entry);
    return value;
  }

  async #withDeadline(lookUp: Promise<Found>, applicationId: string): Promise<Found> {
    const { deadlineMs } = this.#limits;
    const decided = new AbortController();
    const late = this.#clock.idle(deadlineMs, decided.signal).then(() => {
      const path = ['settings', 'applications', applicationId];
      const cause = new Error(`no answer within ${deadlineMs} ms`);
      throw new SecurityEventError('ERR_SETTINGS_FAILED', { path, cause });
    });
    try {
      return await Promise.race([lookUp, late]);
    } finally {
      ignoreRejection(late);
      decided.abort();
    }
  }

  /** Never uses a stale "not found": the application may have been added since. */
  #useStale(applicationId: string, entry: Entry, error: SecurityEventError): Found {
    const { maxStaleMs, onFailed } = this.#limits;
    const now = this.#clock.monotonicMs();
    const { value, startedAtMs } = entry.result ?? { value: undefined, startedAtMs: 0 };
    const isKept = value !== undefined && now - startedAtMs <= maxStaleMs;
    publish('settings-failed', { source: 'function', applicationId, code: error.code, isKept });
    try {
      ignoreRejection(onFailed?.(error, applicationId));
    } catch {
      // An error of the host's function must not stop the look-up.
    }
    if (isKept) {
      entry.freshUntilMs = Math.min(now + RETRY_MS, startedAtMs + maxStaleMs);
      return value;
    }
    throw error;
  }
}
