/** Messages whose end somebody wants to know, through real senders and receivers. */
import { expect, test } from 'vitest';
import { type EachCall, sendEach } from '../../src/delivery/send-each.ts';
import { type InternalSender, SEND_EACH } from '../../src/delivery/sender.ts';
import { SecurityEventError } from '../../src/errors.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { wrapQueue } from '../helpers/queues.ts';
import {
  applicationsOf,
  message,
  messages,
  openReceiver,
  openSender,
  SECRET,
  senderTo,
} from '../helpers/sender.ts';

const NEVER = { schedule: { delaysMs: [600_000] } } as const;

/** The ends of so many messages that this sender accepts, by promises. */
async function endsOf(sender: unknown, count: number) {
  const following = sender as InternalSender;
  const all = await following[SEND_EACH](Promise.resolve(messages(count)));
  const followed = all.flatMap((one) =>
    one.status === 'fulfilled' && one.value.isAccepted ? (one.value.followed ?? []) : [],
  );
  expect(followed).toHaveLength(count);
  return followed;
}

test('a delivered message ends as delivered, also for late callers', async () => {
  const sender = senderTo(await openReceiver());
  const [first, second] = await endsOf(sender, 2);
  const asked = first?.ended;
  await sender.flush();
  expect(await asked).toStrictEqual({ outcome: 'delivered' });
  expect(await second?.ended).toEqual({ outcome: 'delivered' });
  expect(first?.ended).toBe(asked);
});

test('a message that waits for a destination ends as dead when it is closed', async () => {
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

test('a message that stays in a queue ends as accepted when its sender is closed', async () => {
  const keeping = wrapQueue(createMemoryQueue(), {
    close: () => Promise.resolve({ returned: [], remaining: 1 }),
  });
  const { url } = await openReceiver({ otherwise: { status: 500 } });
  const sender = openSender({ url, secret: SECRET, queue: keeping, ...NEVER });
  const [followed] = await endsOf(sender, 1);
  await sender.close({ deadlineMs: 0 });
  expect(await followed?.ended).toEqual({ outcome: 'accepted' });
});

test('a message is followed if one before it in its call is for a closed destination', async () => {
  const gone = await openReceiver({ otherwise: { status: 410 } });
  const settings = applicationsOf({ gone, works: await openReceiver() });
  const options = { schedule: { delaysMs: [1] }, goneConfirmMs: 0 };
  const sender = openSender({ settings, network: 'allow-private', ...options });
  await sender.send([message('m-0', 'gone')]);
  await sender.flush();
  const given = [message('m-1', 'gone'), message('m-2', 'works')];
  const [refused, accepted] = await (sender as unknown as InternalSender)[SEND_EACH](
    Promise.resolve(given),
  );
  expect(refused).toMatchObject({ value: { isAccepted: false, reason: 'destination-closed' } });
  await sender.flush();
  const result = accepted?.status === 'fulfilled' ? accepted.value : undefined;
  const followed = result?.isAccepted === true ? result.followed : undefined;
  expect(await followed?.ended).toEqual({ outcome: 'delivered' });
});

test('a single message that is refused is not sent again', async () => {
  const refusal = new SecurityEventError('ERR_INVALID_MESSAGE');
  const given = { message_type: 'unknown' };
  let calls = 0;
  const call: EachCall = {
    accept: () => {
      calls += 1;
      return Promise.reject(refusal);
    },
    errorFor: (error) => error,
  };
  const results = await sendEach(Promise.resolve([given]), call);
  expect(results).toEqual([{ status: 'rejected', reason: refusal }]);
  expect(refusal.input).toEqual([given]);
  expect(calls).toBe(1);
});
