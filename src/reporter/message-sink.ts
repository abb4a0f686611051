/** Channel B of a reporter: the part of a webhook sender that a reporter uses. */
import {
  type CloseResult,
  type FlushResult,
  type FollowingSender,
  SEND_EACH,
  type SendSelection,
  type Taken,
  type WebhookSender,
} from '../delivery/sender.ts';
import type { DraftMessage } from './build-message.ts';

/** Accepted, and followed until it settles if the sender supports that; or skipped, with the reason. */
export type SentMessage = Taken;

export type SendBatch = (
  messages: Promise<readonly DraftMessage[]>,
  selection: SendSelection,
) => Promise<readonly PromiseSettledResult<SentMessage>[]>;

export interface MessageSink {
  /** Rejects with the sender's error. */
  send(message: DraftMessage, selection: SendSelection): Promise<SentMessage>;
  /**
   * Sends each message as if it were alone, and resolves to the results in the same order. The call begins
   * before its messages are known. Absent for the host's own implementation of a sender.
   */
  readonly sendBatch?: SendBatch;
  flush(signal?: AbortSignal): Promise<FlushResult>;
  close(deadlineMs?: number): Promise<CloseResult>;
}

/** The result without any message. */
export const NO_RESULTS = { delivered: 0, dead: 0, discarded: 0 } as const;

/** What `flush` resolves to without a sender. */
export const NOTHING_FLUSHED = { ...NO_RESULTS, settledElsewhere: 0, pending: 0 } as const;

type Sender = Pick<WebhookSender<'open'>, 'send' | 'flush' | 'close'>;

/** Adapts a webhook sender. `isOwned`: the reporter created it and closes it. */
export function senderSink(sender: Sender, isOwned: boolean): MessageSink {
  return {
    // The host's own implementation reports no results. It gets copies, since it may change them.
    send: async (message, selection) => {
      const { skipped } = await sender.send([message] as never, { ...selection });
      const [skip] = skipped;
      return skip === undefined
        ? { isAccepted: true, followed: undefined }
        : { isAccepted: false, reason: skip.reason };
    },
    ...(isFollowing(sender) ? following(sender) : {}),
    flush: (signal) => sender.flush(signal === undefined ? {} : { signal }),
    close: async (deadlineMs) => {
      const options = deadlineMs === undefined ? {} : { deadlineMs };
      return isOwned ? sender.close(options) : { ...NO_RESULTS, returned: [], left: 0 };
    },
  };
}

const isFollowing = (sender: object): sender is FollowingSender => SEND_EACH in sender;

/** Calls the method on the sender itself, which may be a subclass or proxy of ours. */
const following = (sender: FollowingSender) => ({
  sendBatch: ((messages, selection) => sender[SEND_EACH](messages, selection)) as SendBatch,
});
