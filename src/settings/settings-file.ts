/** `settingsFile`: settings from a JSON file that may change while it is used. */
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
  /** Time between two checks of the file, in ms. 10 to 2147483647; default 1000. */
  readonly pollMs?: number;
  /**
   * Returns the secret of an application that has a `url` but no `secret` in the file. Called before every
   * attempt. Default: none, and a `url` needs a `secret`.
   */
  readonly secretOf?: (applicationId: string) => string | Promise<string>;
  /**
   * Called with the error of `reload`, once for each fault: an invalid change, a missing file. Its errors
   * and rejections are ignored. Default: none.
   */
  readonly onFailed?: (error: SecurityEventError) => void;
}

/** A source for the option `settings`. Any number of senders may share it. */
export interface SettingsFile {
  (applicationId: string): OrganisedApplication | undefined;
  /** Checks the file now. Rejects with `ERR_SETTINGS_FAILED` if it is invalid; the last settings stay in use. */
  reload(): Promise<void>;
  /** Stops checking the file; the last settings stay in use. */
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
 * Reads settings from a JSON file with the shape of `Settings`; a secret may also be
 * `{ current, next, nextFrom }`. Reads it now, and again when it has changed. An invalid file is reported,
 * and the last settings stay in use.
 *
 * @throws SecurityEventError `ERR_SETTINGS_FAILED` if the file is missing or invalid now;
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
  const { pollMs = DEFAULT_POLL_MS, secretOf, onFailed } = given;
  const watched = { pollMs, secretOf, onFailed };
  const file = untraced(() => new WatchedSettings(path, watched, clock));
  const stopWatching = new AbortController();
  // Outside the context of the request in which it may be created.
  void untraced(() => file.watch(stopWatching.signal));
  const close = (): void => stopWatching.abort();
  return Object.assign((applicationId: string) => file.find(applicationId), {
    [IS_CHECKED]: true,
    reload: () => untraced(() => file.reload()),
    close,
    [Symbol.dispose]: close,
  });
}
