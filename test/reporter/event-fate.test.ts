import { expect, test } from 'vitest';
import { FollowedMessage } from '../../src/delivery/followed-message.ts';
import { EventFate, ended, fateOf } from '../../src/reporter/event-fate.ts';
import { EventReceipt, type Settlement } from '../../src/reporter/receipt.ts';

const SKIPPED: Settlement = { outcome: 'skipped', reason: 'log-only' };
const ACCEPTED: Settlement = { outcome: 'accepted' };
const DELIVERED: Settlement = { outcome: 'delivered' };

const delivered = (): FollowedMessage => {
  const followed = new FollowedMessage();
  followed.tell({ outcome: 'delivered' });
  return followed;
};

function told(answer: Parameters<EventFate['tell']>[0]): EventFate {
  const fate = new EventFate();
  fate.tell(answer);
  return fate;
}

const RECEIPTS: readonly (readonly [string, () => EventReceipt, Settlement])[] = [
  ['at once', () => new EventReceipt(SKIPPED), SKIPPED],
  ['as a standing', () => new EventReceipt(fateOf(ended(SKIPPED))), SKIPPED],
  [
    'as accepted, and followed by nobody',
    () => new EventReceipt(told({ isAccepted: true, followed: undefined })),
    ACCEPTED,
  ],
  [
    'as accepted by a sender that says no more',
    () => new EventReceipt(told({ isAccepted: true } as never)),
    ACCEPTED,
  ],
  [
    'as followed',
    () => new EventReceipt(told({ isAccepted: true, followed: delivered() })),
    DELIVERED,
  ],
];

const KEYS = ['ending', 'settled', 'followed', 'ended', 'outcome', 'reason', 'isAccepted'];

test.each(RECEIPTS)('an end that is known %s is told as it is', async (_name, make, expected) => {
  expect(await make().settled).toStrictEqual(expected);
});

test.each(
  RECEIPTS.flatMap(([name, make, expected]) =>
    KEYS.map((key) => [name, key, make, expected] as const),
  ),
)('an end that is known %s is told as it is while every object has %j', async (...row) => {
  const [, key, make, expected] = row;
  const before = make();
  Object.assign(Object.prototype, { [key]: 'evil' });
  let ends: Settlement[];
  try {
    ends = [await before.settled, await make().settled];
  } finally {
    Reflect.deleteProperty(Object.prototype, key);
  }
  expect(ends).toStrictEqual([expected, expected]);
});

test.each(KEYS)('whoever has asked is told as it is while every object has %j', async (key) => {
  const fate = new EventFate();
  const { settled } = new EventReceipt(fate);
  Object.assign(Object.prototype, { [key]: 'evil' });
  try {
    fate.tell({ isAccepted: true, followed: undefined });
  } finally {
    Reflect.deleteProperty(Object.prototype, key);
  }
  expect(await settled).toStrictEqual(ACCEPTED);
});
