/** The sender as its callers have it: what a call starts is our own work, and not their request's. */
import { untraced } from '../runtime/untraced.ts';
import { type FollowingSender, SEND_EACH, type WebhookSender } from './sender.ts';

/** What the calls give and throw stays as it is. */
export function untracedSender(
  sender: WebhookSender & FollowingSender,
): WebhookSender & FollowingSender {
  const close: WebhookSender['close'] = (...call) => untraced(() => sender.close(...call));
  return {
    send: (...call) => untraced(() => sender.send(...call)),
    [SEND_EACH]: (messages, selection) => untraced(() => sender[SEND_EACH](messages, selection)),
    sendTest: (...call) => untraced(() => sender.sendTest(...call)),
    stats: () => untraced(() => sender.stats()),
    deadLetters: (...call) => untraced(() => sender.deadLetters(...call)),
    replay: (...call) => untraced(() => sender.replay(...call)),
    purge: (...call) => untraced(() => sender.purge(...call)),
    reopen: (...call) => untraced(() => sender.reopen(...call)),
    flush: (...call) => untraced(() => sender.flush(...call)),
    close,
    [Symbol.asyncDispose]: async () => {
      await close();
    },
  };
}
