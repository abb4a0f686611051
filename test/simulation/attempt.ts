/** One simulated POST. */
import type { Destination } from './destination.ts';
import type { FaultName, Reaction } from './faults.ts';
import type { RetryAfter } from './receiver.ts';
import type { Phase } from './scenario.ts';
import type { Tracked } from './tracked.ts';

export interface Attempt {
  readonly number: number;
  /** Key of the process that sent it. */
  readonly sentBy: string;
  readonly applicationId: string;
  /** The destination at the time of sending. Its URL may change, or it may be reopened, meanwhile. */
  readonly destination: Destination;
  readonly startedAt: number;
  readonly bytes: number;
  readonly messages: readonly Tracked[];
  readonly fault: FaultName;
  readonly reaction: Reaction;
  /** The receiver's phase when the attempt started. */
  readonly phase: Phase | undefined;
  retryAfter: RetryAfter;
  hasHeaders: boolean;
  /** The result that the engine received. Undefined until then, and if the process crashed. */
  end: AttemptEnd | undefined;
  /** Whether the engine learned after the end that the destination was reopened during the attempt. */
  isReopened: boolean;
}

export interface AttemptEnd {
  readonly at: number;
  readonly status?: number;
  readonly isAborted: boolean;
}

export const isSuccess = ({ status = 0 }: Pick<AttemptEnd, 'status'>): boolean =>
  status >= 200 && status < 300;

/** D74: a single message may be the cause. */
export const blamesContent = ({ status = 0 }: AttemptEnd): boolean =>
  [400, 422, 500].includes(status);

/** D73: some receivers refuse a large body with another status than 413. */
export function isTooLarge(
  { status = 0 }: AttemptEnd,
  request: { readonly count: number; readonly bytes: number; readonly largeBodyBytes: number },
): boolean {
  if (status === 413) return true;
  const isLarge = request.bytes > request.largeBodyBytes && request.count > 1;
  return isLarge && [400, 401, 403, 500].includes(status);
}
