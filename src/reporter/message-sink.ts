/** The part of a webhook sender that a reporter uses. */
import {
  type CloseResult,
  type FlushResult,
  type InternalSender,
  SEND_EACH,
  type SendSelection,
  type SingleSendResult,
  type WebhookSender,
} from '../delivery/sender.ts';
import type { DraftMessage } from './build-message.ts';

/** Accepted, with its later result if the sender reports results; or skipped, with the reason. */
export type SentMessage = SingleSendResult;

export type SendBatch = (
  messages: Promise<readonly DraftMessage[]>,
  selection: SendSelection,
) => Promise<readonly PromiseSettledResult<SentMessage>[]>;

export interface MessageSink {
  /**
   * Sends each message as if it were alone, and resolves to the results in the same order. `messages` is a
   * promise: the call begins before all of them are reported. Never rejects because of one message.
   */
  readonly send: SendBatch;
  flush(signal: AbortSignal): Promise<FlushResult>;
  close(deadlineMs: number): Promise<CloseResult>;
}

/** The counts of a `flush` or `close` without messages. */
export const NO_RESULTS = { delivered: 0, dead: 0, discarded: 0 } as const;

/** The result of `flush` without a sender. */
export const NOTHING_FLUSHED = { ...NO_RESULTS, settledElsewhere: 0, pending: 0 } as const;

type Sender = Pick<WebhookSender<'open'>, 'send' | 'flush' | 'close'>;

/** Adapts a webhook sender. `isOwned`: the reporter created it and closes it. */
export function senderSink(sender: Sender, isOwned: boolean): MessageSink {
  return {
    // Calls the method on the sender itself, which may be a subclass or proxy of our class.
    send: isInternal(sender)
      ? (messages, selection) => sender[SEND_EACH](messages, selection)
      : sendSingly(sender),
    flush: (signal) => sender.flush({ signal }),
    close: async (deadlineMs) =>
      isOwned ? sender.close({ deadlineMs }) : { ...NO_RESULTS, returned: [], remaining: 0 },
  };
}

const isInternal = (sender: Sender): sender is Sender & InternalSender => SEND_EACH in sender;

/** For the host's own sender, which reports no results. It gets its own array and selection, and may change them. */
const sendSingly =
  (sender: Sender): SendBatch =>
  async (messages, selection) => {
    const sendOne = async (message: DraftMessage): Promise<SentMessage> => {
      const { skipped } = await sender.send([message] as never, { ...selection });
      const [skip] = skipped;
      return skip === undefined
        ? { isAccepted: true, followed: undefined }
        : { isAccepted: false, reason: skip.reason };
    };
    return await Promise.allSettled((await messages).map(sendOne));
  };
