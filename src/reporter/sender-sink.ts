/** A webhook sender as channel B of a reporter. */

import type { FollowedMessage } from '../webhook/engine/followed-message.ts';
import {
  type FollowingSender,
  SEND_FOLLOWED,
  type SendResult,
  type WebhookSender,
} from '../webhook/engine/sender.ts';
import { type MessageSink, NO_FATES, type SendTogether, type SentMessage } from './message-sink.ts';
import type { Settlement } from './receipt.ts';

const ACCEPTED = { outcome: 'accepted' } as const;

type Sender = Pick<WebhookSender<'open'>, 'send' | 'flush' | 'close'>;

/** `isOwned`: made by the reporter, which then closes it; the caller's own stays open. */
export function senderSink(sender: Sender, isOwned: boolean): MessageSink {
  return {
    send: async (message, selection) => {
      const { skipped, followed } = await sendTo(sender, [message], selection);
      const [skip] = skipped;
      return skip === undefined
        ? accepted(followed[0])
        : { isAccepted: false, reason: skip.reason };
    },
    ...(isFollowing(sender) ? { sendTogether: togetherTo(sender) } : {}),
    flush: (signal) => sender.flush(signal === undefined ? {} : { signal }),
    close: async (deadlineMs) => {
      const options = deadlineMs === undefined ? {} : { deadlineMs };
      return isOwned ? sender.close(options) : { ...NO_FATES, returned: [], left: 0 };
    },
  };
}

/** Of a sender of another make nobody is told how a message ends. */
function accepted(one: FollowedMessage | undefined): SentMessage {
  const settled = async () => (one === undefined ? ACCEPTED : ((await one.ended) as Settlement));
  return { isAccepted: true, settled };
}

const togetherTo =
  (sender: FollowingSender): SendTogether =>
  async (messages, selection) => {
    const { skipped, followed } = await sender[SEND_FOLLOWED](messages, selection);
    if (skipped.length === 0) return followed.map(accepted);
    const reasons = new Map(skipped.map(({ index, reason }) => [index, reason]));
    const ends = followed.values();
    return Array.from({ length: skipped.length + followed.length }, (_, index) => {
      const reason = reasons.get(index);
      return reason === undefined ? accepted(ends.next().value) : { isAccepted: false, reason };
    });
  };

async function sendTo(
  sender: Sender,
  messages: readonly object[],
  selection: object,
): Promise<SendResult & { readonly followed: readonly FollowedMessage[] }> {
  if (isFollowing(sender)) return sender[SEND_FOLLOWED](messages, selection);
  return { ...(await sender.send(messages as never, selection)), followed: [] };
}

const isFollowing = (sender: object): sender is FollowingSender => SEND_FOLLOWED in sender;
