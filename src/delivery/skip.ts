/** Why a message was not put into the queue although nothing is wrong with it. */
import type { DowngradeSkip } from '../projection/downgrade.ts';
import type { RouteSkip } from '../settings/routing.ts';

export type SkipReason =
  | RouteSkip
  | DowngradeSkip
  /** the receiver has said 410 twice (D72), or a call has closed the destination */
  | 'destination-closed';

export interface SkippedMessage {
  /** Where it is among the messages given. */
  readonly index: number;
  readonly applicationId: string;
  readonly reason: SkipReason;
}
