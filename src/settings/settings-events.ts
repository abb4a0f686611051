/**
 * Events of settings sources on `node:diagnostics_channel`. They contain names, counts and codes, never a
 * secret, a URL or other settings.
 */
import type { SecurityEventErrorCode } from '../errors.ts';
import { DiagnosticsChannel } from '../runtime/diagnostics.ts';

/** By the channel's name, which begins with `security-event-delivery:`. */
export interface SettingsEvents {
  /** A settings file has changed, or is valid again, and is in use. */
  readonly 'settings-loaded': {
    /** The path that was passed to `settingsFile`. */
    readonly file: string;
    readonly applicationCount: number;
  };
  /** Settings could not be read. */
  readonly 'settings-failed': {
    readonly source: 'file' | 'function';
    /** For `source` `'file'`. */
    readonly file?: string;
    /** For `source` `'function'`. */
    readonly applicationId?: string;
    readonly code: SecurityEventErrorCode;
    /** Whether the last good settings stay in use. */
    readonly isKept: boolean;
  };
}

export function publish<Name extends keyof SettingsEvents>(
  name: Name,
  event: SettingsEvents[Name],
): void {
  new DiagnosticsChannel<SettingsEvents[Name]>(name).publish(event);
}
