/** Messages whose end somebody wants to know, through real senders and receivers. */
import { expect, test } from 'vitest';
import { type FollowingSender, SEND_EACH } from '../../src/delivery/sender.ts';
import { FollowedMessage } from '../../src/delivery/settled-messages.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { wrapQueue } from '../helpers/queues.ts';
import { messages, openReceiver, openSender, SECRET, senderTo } from '../helpers/sender.ts';

const SOON = { schedule: { delaysMs: [1] } } as const;
const NEVER = { schedule: { delaysMs: [600_000] } } as const;

/** The ends of so many messages that this sender accepts, by promises. */
async function endsOf(sender: unknown, count: number) {
  const following = sender as FollowingSender;
  const all = await following[SEND_EACH](Promise.resolve(messages(count)));
  const followed = all.flatMap((one) =>
    one.status === 'fulfilled' && one.value.isAccepted ? (one.value.followed ?? []) : [],
  );
  expect(followed).toHaveLength(count);
  return followed;
}

test('what a receiver takes ends as delivered, also for who asks late', async () => {
  const sender = senderTo(await openReceiver());
  const [first, second] = await endsOf(sender, 2);
  const asked = first?.ended;
  await sender.flush();
  expect(await asked).toEqual({ outcome: 'delivered' });
  expect(await second?.ended).toEqual({ outcome: 'delivered' });
  expect(first?.ended).toBe(asked);
});

test('what is given up ends as dead, and says why', async () => {
  const sender = senderTo(await openReceiver({ otherwise: { status: 500 } }), SOON);
  const [followed] = await endsOf(sender, 1);
  expect(await followed?.ended).toEqual({ outcome: 'dead', reason: 'attempts-exhausted' });
});

test('what waits for a destination that is closed ends as dead', async () => {
  const gone = await openReceiver({ otherwise: { status: 410 } });
  const sender = senderTo(gone, {
    schedule: { delaysMs: Array(50).fill(5) },
    goneConfirmMs: 0,
    cautiousMaxMessages: 1,
  });
  const followed = await endsOf(sender, 2);
  expect(await Promise.all(followed.map(({ ended }) => ended))).toEqual(
    followed.map(() => ({ outcome: 'dead', reason: 'destination-closed' })),
  );
});

test('what close hands back ends as discarded', async () => {
  const sender = senderTo(await openReceiver({ otherwise: { status: 500 } }), NEVER);
  const [followed] = await endsOf(sender, 1);
  await sender.close({ deadlineMs: 0 });
  expect(await followed?.ended).toEqual({ outcome: 'discarded', reason: 'returned' });
});

test('what another process is to deliver has ended when it is accepted', async () => {
  const { url } = await openReceiver();
  const options = { url, secret: SECRET, queue: createMemoryQueue() } as const;
  const [followed] = await endsOf(openSender({ ...options, role: 'enqueue' }), 1);
  expect(await followed?.ended).toEqual({ outcome: 'accepted' });
});

test('what stays in a queue when its sender is closed is left to others', async () => {
  const keeping = wrapQueue(createMemoryQueue(), {
    close: () => Promise.resolve({ returned: [], left: 1 }),
  });
  const { url } = await openReceiver({ otherwise: { status: 500 } });
  const sender = openSender({ url, secret: SECRET, queue: keeping, ...NEVER });
  const [followed] = await endsOf(sender, 1);
  await sender.close({ deadlineMs: 0 });
  expect(await followed?.ended).toEqual({ outcome: 'accepted' });
});

test('an end that was told is the end, whenever somebody asks', async () => {
  const followed = new FollowedMessage();
  const early = followed.ended;
  followed.end({ outcome: 'dead', reason: 'horizon-passed' });
  expect(await early).toEqual({ outcome: 'dead', reason: 'horizon-passed' });
  const late = new FollowedMessage();
  late.end({ outcome: 'delivered' });
  expect(await late.ended).toEqual({ outcome: 'delivered' });
});
