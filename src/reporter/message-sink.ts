/** Channel B of a reporter: what it needs of a sender. */
import type { CloseResult, FlushResult, SendSelection, Taken } from '../delivery/sender.ts';
import type { DraftMessage } from './build-message.ts';

/** Accepted, and then perhaps followed to its end; or not to be told, and why. */
export type SentMessage = Taken;

export type SendTogether = (
  messages: Promise<readonly DraftMessage[]>,
  selection: SendSelection,
) => Promise<readonly PromiseSettledResult<SentMessage>[]>;

export interface MessageSink {
  /** Rejects with what `send` of a sender rejects with. */
  send(message: DraftMessage, selection: SendSelection): Promise<SentMessage>;
  /**
   * Each as if it were sent alone; what became of it in its place. The call has begun while the messages
   * are promised. Absent where a sender takes no promise.
   */
  readonly sendTogether?: SendTogether;
  flush(signal?: AbortSignal): Promise<FlushResult>;
  close(deadlineMs?: number): Promise<CloseResult>;
}

/** What became of the messages of nobody. */
export const NO_FATES = { delivered: 0, dead: 0, discarded: 0 } as const;

/** What `flush` resolves to without a sender. */
export const NOTHING_FLUSHED = { ...NO_FATES, settledElsewhere: 0, pending: 0 } as const;
