import { expect, test } from 'vitest';
import { makeSender } from '../../src/delivery/create-sender.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { scriptedPoster } from '../helpers/fake-engine.ts';
import { messages, SECRET } from '../helpers/sender.ts';

const MINUTE_MS = 60_000;
/** Without any wait of its own: what failed is due again at once, and for ever. */
const AT_ONCE = { schedule: { delaysMs: [0], repeatLast: true } } as const;

function open(options: object, status: number) {
  const clock = createFakeClock();
  const { posts, createPoster } = scriptedPoster(clock, { steps: [status] });
  let ids = 0;
  const newId = (): string => {
    ids += 1;
    return `id-${ids}`;
  };
  const sender = makeSender(
    { ...AT_ONCE, ...options },
    { clock, random: () => 0, newId, createPoster, maxOpenFiles: Number.POSITIVE_INFINITY },
  );
  return { clock, posts, sender };
}

test('an open destination is probed once a second, even by a schedule without waits (D75)', async () => {
  const { clock, posts, sender } = open({ url: 'https://shop.example', secret: SECRET }, 502);
  await sender.send(messages(10));
  await clock.advance(MINUTE_MS);
  // Five failures open it, the last of them 4 ms after the first.
  const times = posts.map(({ atMs }) => atMs);
  expect(times.slice(0, 5)).toEqual([0, 1, 2, 3, 4]);
  expect(times.slice(5)).toEqual(Array.from({ length: 59 }, (_, index) => (index + 1) * 1000 + 4));
  expect(posts.slice(5).every((post) => post.messages.length === 1)).toBe(true);
  await sender.close({ deadlineMs: 0 });
});

test('a destination that is missing is asked for once a second, too (D72)', async () => {
  let isThere = true;
  let asked = 0;
  const settings = () => {
    asked += 1;
    if (!isThere) return undefined;
    return { name: 'shop', environment: 'test', url: 'https://shop.example', secret: SECRET };
  };
  const { clock, posts, sender } = open({ settings }, 200);
  const sending = sender.send(messages(10));
  isThere = false;
  await sending;
  asked = 0;
  await clock.advance(MINUTE_MS);
  expect(posts).toEqual([]);
  expect(asked).toBe(60);
  await sender.close({ deadlineMs: 0 });
});
