/** A secret with a successor from a given time on. */
import { types } from 'node:util';
import * as z from 'zod';
import { expecting } from '../contract/error-messages.ts';
import { SecurityEventError } from '../errors.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { readWith } from './schema.ts';

/**
 * Two secrets for a rotation. A request has one signature, so each attempt is signed with exactly one of
 * them, chosen by the clock of the sending process. Receivers must accept both around that time.
 */
export interface ScheduledSecret {
  /** Signs before `nextFrom`. Not empty. */
  readonly current: string;
  /** Signs from then on. Not empty. */
  readonly next: string;
  /** A `Date`, or ISO 8601 with `Z` or an offset. */
  readonly nextFrom: string | Date;
}

type StoredSchedule = ScheduledSecret & { readonly nextFrom: string };

export type StoredSecret = string | StoredSchedule;

/** The secret in a settings file. */
export const storedSecretSchema = (): z.ZodType<StoredSecret> =>
  z.union([z.string().min(1), scheduledSecretSchema()], {
    error: expecting(
      'a non-empty string or { current, next, nextFrom }, with nextFrom in ISO 8601',
    ),
  });

const scheduledSecretSchema = (): z.ZodType<StoredSchedule> =>
  z.strictObject({
    current: z.string().min(1),
    next: z.string().min(1),
    nextFrom: timeSchema(),
  });

/** Accepts a `Date`, also of a test sandbox, and ISO 8601, which has no years of five digits. Returns text. */
export const timeSchema = () =>
  z.preprocess(
    (given) =>
      types.isDate(given) && !Number.isNaN(given.getTime()) ? given.toISOString() : given,
    z.iso.datetime({ offset: true, error: expecting('a time of ISO 8601') }),
  );

/** Returns the secret that signs at `nowMs`. */
export function secretAt(secret: StoredSecret, nowMs: number): string {
  if (typeof secret === 'string') return secret;
  return pendingSchedule(secret, nowMs)?.current ?? secret.next;
}

/** Returns the schedule if its next secret does not sign yet. */
export const pendingSchedule = (
  secret: StoredSecret | undefined,
  nowMs: number,
): StoredSchedule | undefined =>
  typeof secret === 'object' && nowMs < Date.parse(secret.nextFrom) ? secret : undefined;

/**
 * Returns a function for the `secret` of an application: it returns `current` before `nextFrom`, and `next`
 * from then on.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the invalid key.
 */
export function scheduledSecret(
  given: ScheduledSecret,
  clock: Pick<Clock, 'now'> = systemClock,
): () => string {
  // Only its own level: a copy of a `Date` would have no time.
  const read = readWith(scheduledSecretSchema(), given, 1);
  if (!read.ok) throw new SecurityEventError('ERR_INVALID_OPTION', { issues: read.issues });
  return () => secretAt(read.value, clock.now());
}
