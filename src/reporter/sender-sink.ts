/** A webhook sender as channel B of a reporter. */
import type { Taken } from '../webhook/engine/send-each.ts';
import { type FollowingSender, SEND_EACH, type WebhookSender } from '../webhook/engine/sender.ts';
import { type MessageSink, NO_FATES, type SendTogether, type SentMessage } from './message-sink.ts';
import type { Settlement } from './receipt.ts';

const ACCEPTED = { outcome: 'accepted' } as const;

type Sender = Pick<WebhookSender<'open'>, 'send' | 'flush' | 'close'>;

/** `isOwned`: made by the reporter, which then closes it; the caller's own stays open. */
export function senderSink(sender: Sender, isOwned: boolean): MessageSink {
  return {
    // Of a sender of another make nobody is told how a message ends.
    send: async (message, selection) => {
      const { skipped } = await sender.send([message] as never, selection);
      const [skip] = skipped;
      return skip === undefined
        ? { isAccepted: true, settled: async () => ACCEPTED }
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

const togetherTo =
  (sender: FollowingSender): SendTogether =>
  async (messages, selection) => {
    const all = await sender[SEND_EACH](messages, selection);
    return all.map((one) =>
      one.status === 'rejected' ? one : { status: 'fulfilled', value: sent(one.value) },
    );
  };

function sent(taken: Taken): SentMessage {
  if (!taken.isAccepted) return taken;
  const { followed } = taken;
  const settled = async () =>
    followed === undefined ? ACCEPTED : ((await followed.ended) as Settlement);
  return { isAccepted: true, settled };
}

const isFollowing = (sender: object): sender is FollowingSender => SEND_EACH in sender;
