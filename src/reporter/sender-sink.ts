/** A webhook sender as channel B of a reporter. */

import type { FollowedMessage } from '../webhook/engine/followed-message.ts';
import {
  type FollowingSender,
  SEND_FOLLOWED,
  type SendResult,
  type WebhookSender,
} from '../webhook/engine/sender.ts';
import { type MessageSink, NO_FATES } from './message-sink.ts';
import type { Settlement } from './receipt.ts';

const ACCEPTED = { outcome: 'accepted' } as const;

type Sender = Pick<WebhookSender<'open'>, 'send' | 'flush' | 'close'>;

/** `isOwned`: made by the reporter, which then closes it; the caller's own stays open. */
export function senderSink(sender: Sender, isOwned: boolean): MessageSink {
  return {
    send: async (message, selection) => {
      const { skipped, followed } = await sendTo(sender, [message], selection);
      const [skip] = skipped;
      if (skip !== undefined) return { isAccepted: false, reason: skip.reason };
      const [one] = followed;
      // Of a sender of another make nobody is told how a message ends.
      const settled = async () =>
        one === undefined ? ACCEPTED : ((await one.ended) as Settlement);
      return { isAccepted: true, settled };
    },
    flush: (signal) => sender.flush(signal === undefined ? {} : { signal }),
    close: async (deadlineMs) => {
      const options = deadlineMs === undefined ? {} : { deadlineMs };
      return isOwned ? sender.close(options) : { ...NO_FATES, returned: [], left: 0 };
    },
  };
}

async function sendTo(
  sender: Sender,
  messages: readonly object[],
  selection: object,
): Promise<SendResult & { readonly followed: readonly FollowedMessage[] }> {
  if (isFollowing(sender)) return sender[SEND_FOLLOWED](messages, selection);
  return { ...(await sender.send(messages as never, selection)), followed: [] };
}

const isFollowing = (sender: object): sender is FollowingSender => SEND_FOLLOWED in sender;
