import { expect, test } from 'vitest';
import { FollowedMessage } from '../../src/delivery/settled-messages.ts';
import type { Settlement } from '../../src/reporter/receipt.ts';
import { EventReceipt, MessageSettlement, settledWith } from '../../src/reporter/receipt.ts';

const SKIPPED: Settlement = { outcome: 'skipped', reason: 'log-only' };
const ACCEPTED: Settlement = { outcome: 'accepted' };
const DELIVERED: Settlement = { outcome: 'delivered' };

const delivered = (): FollowedMessage => {
  const followed = new FollowedMessage();
  followed.end({ outcome: 'delivered' });
  return followed;
};

function settled(result: Parameters<MessageSettlement['settle']>[0]): MessageSettlement {
  const settlement = new MessageSettlement();
  settlement.settle(result);
  return settlement;
}

function following(result: Settlement): MessageSettlement {
  const settlement = new MessageSettlement();
  void settlement.follow(settledWith(result));
  return settlement;
}

const RECEIPTS: readonly (readonly [string, () => EventReceipt, Settlement])[] = [
  ['at once', () => new EventReceipt(SKIPPED), SKIPPED],
  ['when it is made', () => new EventReceipt(settledWith(SKIPPED)), SKIPPED],
  ['by another settlement', () => new EventReceipt(following(SKIPPED)), SKIPPED],
  [
    'as accepted, and tracked by no one',
    () => new EventReceipt(settled({ isAccepted: true, followed: undefined })),
    ACCEPTED,
  ],
  [
    'as accepted by a sender that says no more',
    () => new EventReceipt(settled({ isAccepted: true } as never)),
    ACCEPTED,
  ],
  [
    'as followed',
    () => new EventReceipt(settled({ isAccepted: true, followed: delivered() })),
    DELIVERED,
  ],
];

const KEYS = ['ending', 'settled', 'followed', 'ended', 'outcome', 'reason', 'isAccepted'];

test.each(RECEIPTS)(
  'an end that is known %s is reported unchanged',
  async (_name, make, expected) => {
    expect(await make().settled).toStrictEqual(expected);
  },
);

test.each(
  RECEIPTS.flatMap(([name, make, expected]) =>
    KEYS.map((key) => [name, key, make, expected] as const),
  ),
)('an end that is known %s is reported unchanged while every object has %j', async (...row) => {
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

test.each(KEYS)('a pending end is reported unchanged while every object has %j', async (key) => {
  const settlement = new MessageSettlement();
  const { settled: ending } = new EventReceipt(settlement);
  Object.assign(Object.prototype, { [key]: 'evil' });
  try {
    settlement.settle({ isAccepted: true, followed: undefined });
  } finally {
    Reflect.deleteProperty(Object.prototype, key);
  }
  expect(await ending).toStrictEqual(ACCEPTED);
});
