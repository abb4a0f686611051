/** One POST, as the wire and the receiver saw it. */
import type { Destination } from './destination.ts';
import type { FaultName, Reaction } from './faults.ts';
import type { RetryAfter } from './receiver.ts';
import type { Phase } from './scenario.ts';
import type { Tracked } from './tracked.ts';

export interface Attempt {
  readonly number: number;
  /** Which process sent it: its place and its life. */
  readonly sentBy: string;
  readonly applicationId: string;
  /** As it was known when this was sent: it may move, or be opened again, meanwhile. */
  readonly destination: Destination;
  readonly startedAt: number;
  readonly bytes: number;
  readonly messages: readonly Tracked[];
  readonly fault: FaultName;
  readonly reaction: Reaction;
  /** Of its receiver, when it began. */
  readonly phase: Phase | undefined;
  /** Of its answer. */
  retryAfter: RetryAfter;
  isTaken: boolean;
  hasHeaders: boolean;
  /** How it ended, as the engine was told; absent before, and where its process died. */
  end: AttemptEnd | undefined;
}

export interface AttemptEnd {
  readonly at: number;
  readonly status?: number;
  readonly isAborted: boolean;
}

export const isSuccess = ({ status = 0 }: Pick<AttemptEnd, 'status'>): boolean =>
  status >= 200 && status < 300;

/** D74: one message may be the fault. */
export const blamesContent = ({ status = 0 }: AttemptEnd): boolean =>
  [400, 422, 500].includes(status);

/** D72: so many attempts and no more. */
export const isRefusal = ({ status = 0 }: AttemptEnd): boolean =>
  status >= 400 && status < 500 && ![408, 413, 425, 429].includes(status);

/** D73: refused for its size, whatever the status says. */
export function isTooLarge(
  { status = 0 }: AttemptEnd,
  request: { readonly count: number; readonly bytes: number; readonly largeBodyBytes: number },
): boolean {
  if (status === 413) return true;
  const isLarge = request.bytes > request.largeBodyBytes && request.count > 1;
  return isLarge && [400, 401, 403, 500].includes(status);
}
