/**
 * What sources of settings tell on `node:diagnostics_channel`. Names, counts and codes; never a
 * secret, a URL or anything else that stands in the settings.
 */
import { channel } from 'node:diagnostics_channel';
import type { SecurityEventErrorCode } from '../errors.ts';

/** By the channel's name, which begins with `security-event-delivery:`. */
export interface SettingsEvents {
  /** A file of settings was changed, or is usable again; what it says counts from now on. */
  readonly 'settings-loaded': {
    /** As it was given to `settingsFile`. */
    readonly file: string;
    readonly applicationCount: number;
  };
  /** Settings could not be had. */
  readonly 'settings-failed': {
    readonly source: 'file' | 'function';
    /** Of `source` `'file'`. */
    readonly file?: string;
    /** Of `source` `'function'`. */
    readonly applicationId?: string;
    readonly code: SecurityEventErrorCode;
    /** Whether the last good settings stay in use. */
    readonly isKept: boolean;
  };
}

export function tell<Name extends keyof SettingsEvents>(
  name: Name,
  event: SettingsEvents[Name],
): void {
  const target = channel(`security-event-delivery:${name}`);
  if (target.hasSubscribers) target.publish(event);
}
