/** A webhook sender as channel B of a reporter. */
import { type FollowingSender, SEND_EACH, type WebhookSender } from '../delivery/sender.ts';
import { type MessageSink, NO_FATES, type SendTogether } from './message-sink.ts';

type Sender = Pick<WebhookSender<'open'>, 'send' | 'flush' | 'close'>;

/** `isOwned`: made by the reporter, which then closes it; the caller's own stays open. */
export function senderSink(sender: Sender, isOwned: boolean): MessageSink {
  return {
    // Of a sender of another make nobody is told how a message ends. It may do with what it is given as it likes.
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
      return isOwned ? sender.close(options) : { ...NO_FATES, returned: [], left: 0 };
    },
  };
}

const isFollowing = (sender: object): sender is FollowingSender => SEND_EACH in sender;

/** Asked of the sender itself: the host's own around one of ours may be of a class. */
const following = (sender: FollowingSender) => ({
  sendTogether: ((messages, selection) => sender[SEND_EACH](messages, selection)) as SendTogether,
});
