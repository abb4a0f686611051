/** `settingsFile`: settings from a JSON file, which may change while they are used. */
import type { SecurityEventError } from '../errors.ts';
import {
  A_FUNCTION,
  check,
  integer,
  invalidOption,
  MAX_TIMER_MS,
  type Rules,
} from '../option-rules.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { untraced } from '../runtime/untraced.ts';
import type { OrganisedApplication } from './schema.ts';
import { IS_CHECKED } from './source.ts';
import { WatchedSettings } from './watched-settings.ts';

export interface SettingsFileOptions {
  /** How often the file is looked at, in ms. 10 to 2147483647; default 1000. */
  readonly pollMs?: number;
  /**
   * Where secrets are kept that are not in the file: asked before every attempt for that of an
   * application which has a `url` and no `secret`. Default none: a `url` needs a `secret` beside it.
   */
  readonly secretOf?: (applicationId: string) => string | Promise<string>;
  /**
   * Told what `reload` would reject with, once for each fault: a change that cannot be used, a file
   * that is gone. What it throws, or rejects with, is dropped. Default
   * nobody.
   */
  readonly onFailed?: (error: SecurityEventError) => void;
}

/** A source of settings: give it as `settings`. Any number of senders may share it. */
export interface SettingsFile {
  (applicationId: string): OrganisedApplication | undefined;
  /**
   * Looks at the file now. Rejects with `ERR_SETTINGS_FAILED` where it cannot be used; what was read
   * last stays in use.
   */
  reload(): Promise<void>;
  /** Looks at the file no more; what was read last stays in use. */
  close(): void;
  [Symbol.dispose](): void;
}

const OPTION_RULES: Rules<keyof SettingsFileOptions> = {
  pollMs: integer(10, MAX_TIMER_MS),
  secretOf: A_FUNCTION,
  onFailed: A_FUNCTION,
};

const DEFAULT_POLL_MS = 1000;

/**
 * Settings from a JSON file of the shape of `Settings`, in which a secret may also be
 * `{ current, next, nextFrom }`. It is read now, and again when it has changed: checked whole before
 * anything of it counts. One that cannot be used is told of, and what was read last stays in use.
 *
 * @throws SecurityEventError `ERR_SETTINGS_FAILED` where the file is missing or cannot be used now;
 * `ERR_INVALID_OPTION`.
 */
export function settingsFile(path: string, options: SettingsFileOptions = {}): SettingsFile {
  return watchSettings(path, options, systemClock);
}

export function watchSettings(path: string, options: unknown, clock: Clock): SettingsFile {
  if (typeof path !== 'string' || path === '') {
    throw invalidOption('expected path to be a non-empty string', ['path']);
  }
  const given = check<SettingsFileOptions>(options, OPTION_RULES);
  // D0: an option that is there and undefined is absent.
  const { pollMs = DEFAULT_POLL_MS, secretOf, onFailed } = given;
  const watched = { pollMs, secretOf, onFailed };
  const file = untraced(() => new WatchedSettings(path, watched, clock));
  const stopWatching = new AbortController();
  // Not for the request within which it may be made.
  void untraced(() => file.watch(stopWatching.signal));
  const close = (): void => stopWatching.abort();
  return Object.assign((applicationId: string) => file.find(applicationId), {
    [IS_CHECKED]: true,
    reload: () => untraced(() => file.reload()),
    close,
    [Symbol.dispose]: close,
  });
}
