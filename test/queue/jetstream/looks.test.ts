/** Looking at what an application has waiting while the servers cannot answer for a moment. */
import { expect, test, vi } from 'vitest';
import { FreshRoom } from '../../../src/queue/jetstream/fresh-room.ts';
import { Unanswered } from '../../../src/queue/jetstream/jetstream-failure.ts';
import { RowRoom } from '../../../src/queue/jetstream/known-row.ts';
import { Looks } from '../../../src/queue/jetstream/looks.ts';
import { tokenOf } from '../../../src/queue/jetstream/names.ts';
import { View } from '../../../src/queue/jetstream/view.ts';
import { ROW } from '../conformance/trial.ts';
import { messageAt } from './message-at.ts';

test('what is read by its sequences is read again where nobody answers at once', async () => {
  const room = new FreshRoom(() => [], 1000);
  const view = new View(
    tokenOf('one'),
    {
      now: () => 2000,
      initial: () => ({ row: ROW, lingerMs: 0 }),
      room,
      rowRoom: new RowRoom(1000),
    },
    true,
  );
  for (let sequence = 1; sequence <= 3; sequence += 1) view.came(messageAt(sequence));
  view.keepOnly(1);
  const found = new Map([2, 3].map((sequence) => [sequence, messageAt(sequence)]));
  const read = vi.fn<() => Promise<typeof found>>(() => Promise.resolve(found));
  read.mockRejectedValueOnce(new Unanswered('no leader'));
  const clock = { monotonicMs: () => 0, sleep: () => Promise.resolve() };
  const looks = new Looks({ clock, callTimeoutMs: 1000 } as never, {
    surrounding: () => ({}) as never,
    room,
    bodies: { read } as never,
    onLooked: () => {},
  });
  await looks.look(view, { messages: 3, bytes: Number.POSITIVE_INFINITY });
  expect(read).toHaveBeenCalledTimes(2);
  expect([view.kept, view.isWhole]).toEqual([3, true]);
});
