/** `settingsCache`: keeps what a function of yours answers for a while. */
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
import { tell } from './settings-events.ts';
import {
  createSettings,
  IS_CHECKED,
  type SettingsFunction,
  type SettingsReader,
} from './source.ts';

export interface SettingsCacheOptions {
  /**
   * For how long an answer is used without asking again, in ms: that long a change may go unnoticed. 0
   * to 2147483647; default 30000. That an application is not known is kept for 5 s at most.
   */
  readonly maxAgeMs?: number;
  /**
   * For how long, since it was asked for, the last good answer is used while asking fails, in ms. 0 to
   * 2147483647; default 3600000.
   */
  readonly maxStaleMs?: number;
  /** After how long asking counts as failed, in ms. 1 to 2147483647; default 5000. */
  readonly deadlineMs?: number;
  /** Of how many applications answers are kept; the oldest go first. 1 to 1000000; default 10000. */
  readonly maxApplications?: number;
  /** Told each time asking has failed. What it throws, or rejects with, is dropped. Default nobody. */
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
 * A message that failed is sent again after 5 s, 30 s and 2 min (D71): what a wrong URL or secret costs
 * by 30 s is two of its attempts. And an application in use is asked for at most twice a minute.
 */
const DEFAULTS = {
  maxAgeMs: 30_000,
  maxStaleMs: 3_600_000,
  deadlineMs: 5000,
  maxApplications: 10_000,
} as const;

/** Who adds an application should not have to wait; yet one that nobody knows is not asked for each time. */
const UNKNOWN_MAX_AGE_MS = 5000;
/** After asking has failed: while a database is down, not every message should wait for it. */
const ASK_AGAIN_MS = 5000;

/** A source of settings: give it as `settings`. Any number of senders may share it. */
export type CachedSettings = (applicationId: string) => Promise<OrganisedApplication | undefined>;

/**
 * A source of settings that asks `get` and keeps its answers, those that can be used. Calls at a time
 * share one asking. While asking fails, by an answer that cannot be used too, or by none in time, the
 * last good answer is used for a bounded time.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`. What it makes rejects with that code for an answer
 * that is no application, and with `ERR_SETTINGS_FAILED` where asking failed, where there is no
 * good answer to use.
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

/** D0: an option that is there and undefined is absent. */
const limitsOf = (given: SettingsCacheOptions): Limits => ({
  maxAgeMs: given.maxAgeMs ?? DEFAULTS.maxAgeMs,
  maxStaleMs: given.maxStaleMs ?? DEFAULTS.maxStaleMs,
  deadlineMs: given.deadlineMs ?? DEFAULTS.deadlineMs,
  maxApplications: given.maxApplications ?? DEFAULTS.maxApplications,
  onFailed: given.onFailed,
});

type Answer = OrganisedApplication | undefined;

interface Entry {
  answer: { readonly value: Answer; readonly askedAtMs: number } | undefined;
  /** Until then it is not asked again. */
  freshUntilMs: number;
  asking: Promise<Answer> | undefined;
}

type Limits = Required<Omit<SettingsCacheOptions, 'onFailed'>> & {
  readonly onFailed: SettingsCacheOptions['onFailed'] | undefined;
};

class SettingsCache {
  readonly #ask: SettingsReader['find'];
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #entries = new Map<string, Entry>();

  constructor(get: SettingsFunction, limits: Limits, clock: Clock) {
    this.#ask = createSettings(get).find;
    this.#limits = limits;
    this.#clock = clock;
  }

  async find(applicationId: string): Promise<Answer> {
    const entry = this.#entryOf(applicationId);
    if (entry.answer !== undefined && this.#clock.monotonicMs() < entry.freshUntilMs) {
      return entry.answer.value;
    }
    // Asked for nobody's request in particular: its answer is everybody's.
    entry.asking ??= untraced(() => this.#refresh(applicationId, entry));
    return entry.asking;
  }

  #entryOf(applicationId: string): Entry {
    const known = this.#entries.get(applicationId);
    if (known !== undefined) return known;
    const entry: Entry = { answer: undefined, freshUntilMs: 0, asking: undefined };
    this.#put(applicationId, entry);
    return entry;
  }

  /** As the youngest. */
  #put(applicationId: string, entry: Entry): void {
    this.#entries.delete(applicationId);
    this.#entries.set(applicationId, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#limits.maxApplications) return;
      this.#entries.delete(oldest);
    }
  }

  async #refresh(applicationId: string, entry: Entry): Promise<Answer> {
    try {
      return await this.#inTime(this.#askFor(applicationId), applicationId);
    } catch (error) {
      return this.#keep(applicationId, entry, error as SecurityEventError);
    } finally {
      entry.asking = undefined;
      const isIts = this.#entries.get(applicationId) === entry;
      if (isIts && entry.answer === undefined) this.#entries.delete(applicationId);
    }
  }

  /** Also where the deadline is over by then: a slow answer is better than none. */
  async #askFor(applicationId: string): Promise<Answer> {
    const askedAtMs = this.#clock.monotonicMs();
    const value = await this.#ask(applicationId);
    // Of now: that of then may be gone, and another one in its place.
    const entry = this.#entryOf(applicationId);
    const { answer } = entry;
    if (answer !== undefined && answer.askedAtMs > askedAtMs) return answer.value;
    const { maxAgeMs } = this.#limits;
    const ageMs = value === undefined ? Math.min(maxAgeMs, UNKNOWN_MAX_AGE_MS) : maxAgeMs;
    entry.answer = { value, askedAtMs };
    entry.freshUntilMs = askedAtMs + ageMs;
    this.#put(applicationId, entry);
    return value;
  }

  async #inTime(asked: Promise<Answer>, applicationId: string): Promise<Answer> {
    const { deadlineMs } = this.#limits;
    const decided = new AbortController();
    const late = this.#clock.idle(deadlineMs, decided.signal).then(() => {
      const path = ['settings', 'applications', applicationId];
      const cause = new Error(`no answer within ${deadlineMs} ms`);
      throw new SecurityEventError('ERR_SETTINGS_FAILED', { path, cause });
    });
    try {
      return await Promise.race([asked, late]);
    } finally {
      late.catch(nothing);
      decided.abort();
    }
  }

  /** That an application was not known is no good answer: it may have been added since. */
  #keep(applicationId: string, entry: Entry, error: SecurityEventError): Answer {
    const { maxStaleMs, onFailed } = this.#limits;
    const now = this.#clock.monotonicMs();
    const { value, askedAtMs } = entry.answer ?? { value: undefined, askedAtMs: 0 };
    const isKept = value !== undefined && now - askedAtMs <= maxStaleMs;
    tell('settings-failed', { source: 'function', applicationId, code: error.code, isKept });
    try {
      ignoreRejection(onFailed?.(error, applicationId));
    } catch {
      // The host's own, and no part of reading settings.
    }
    if (isKept) {
      entry.freshUntilMs = Math.min(now + ASK_AGAIN_MS, askedAtMs + maxStaleMs);
      return value;
    }
    throw error;
  }
}

const nothing = (): void => {};
