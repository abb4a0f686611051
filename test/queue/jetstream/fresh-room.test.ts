/** What a process keeps in mind of what waits: bounded over all applications, and nothing is lost by it. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Message } from '../../../src/queue/jetstream/envelope.ts';
import { FreshMessages } from '../../../src/queue/jetstream/fresh-messages.ts';
import { FreshRoom, MAX_FRESH, shareOf } from '../../../src/queue/jetstream/fresh-room.ts';
import { readQueueOptions } from '../../../src/queue/jetstream/jetstream-options.ts';
import { loadNats } from '../../../src/queue/jetstream/load-nats.ts';
import { type Opened, opened } from '../../../src/queue/jetstream/opened.ts';
import { settle } from '../../../src/queue/jetstream/row-settle.ts';
import { createJetStreamStreams } from '../../../src/queue/jetstream.ts';
import type { Claim, ClaimRequest } from '../../../src/queue/queue.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { newId } from '../../../src/system/id.ts';
import { NatsServer, natsProgram } from '../../helpers/nats-server.ts';
import { DELIVERED, entryOf, idsOf, isClaim, ROW } from '../conformance/trial.ts';

describe('the share of each', () => {
  test('is the same for those that give some up, is all for the others, and fits', () => {
    const property = fc.property(
      fc.array(fc.nat(5000), { minLength: 1, maxLength: 50 }),
      fc.nat(20_000),
      (kept, room) => {
        const share = shareOf(kept, room);
        const within = (most: number): number =>
          kept.reduce((sum, count) => sum + Math.min(count, most), 0);
        const areAllKept = within(Number.POSITIVE_INFINITY) <= room;
        expect(share).toBeGreaterThanOrEqual(1);
        expect(!areAllKept || share >= Math.max(...kept)).toBe(true);
        expect(within(share) <= room || share === 1).toBe(true);
        // Not less than there is room for: one more each would be too many.
        expect(areAllKept || within(share + 1) > room).toBe(true);
      },
    );
    fc.assert(property, { seed: 9, numRuns: 300 });
  });
});

const messageAt = (sequence: number, batch?: readonly [string, number, number]): Message => ({
  sequence,
  storedMs: 1000,
  format: 2,
  sizeBytes: 1,
  messageId: `${sequence}`,
  dateAt: -1,
  countAt: -1,
  origin: { senderId: 'sender', number: sequence },
  ...(batch && { batch: { id: batch[0], index: batch[1], count: batch[2] } }),
});

const sequencesOf = (fresh: FreshMessages): number[] =>
  fresh.messages.map(({ sequence }) => sequence);

const freshOf = (): FreshMessages => new FreshMessages(new FreshRoom(() => [], 1e6), true);

describe('what an application has in mind', () => {
  test('ends where it is full, and is not whole from then on', () => {
    const fresh = freshOf();
    for (let sequence = 1; sequence <= MAX_FRESH; sequence += 1) fresh.came(messageAt(sequence));
    expect([fresh.messages.length, fresh.isWhole]).toEqual([MAX_FRESH, true]);
    expect(fresh.came(messageAt(MAX_FRESH + 1))).toBe(false);
    expect([fresh.messages.length, fresh.isWhole]).toEqual([MAX_FRESH, false]);
  });

  test('shows a call of which it keeps a part once the last message of it has come', () => {
    const fresh = freshOf();
    fresh.came(messageAt(1));
    for (const index of [0, 1, 2]) fresh.came(messageAt(2 + index, ['call', index, 4]));
    fresh.keepOnly(3);
    expect([sequencesOf(fresh), fresh.visible(0)]).toEqual([[1, 2, 3], 1]);
    expect(fresh.came(messageAt(5, ['other', 0, 2]))).toBe(false);
    expect(fresh.came(messageAt(6, ['call', 3, 4]))).toBe(true);
    expect([sequencesOf(fresh), fresh.visible(0)]).toEqual([[1, 2, 3], 3]);
    // What is read of it from now on is known to be whole.
    expect(fresh.isEnded('call')).toBe(true);
  });

  test('goes on showing a call that was whole when a part of it was given up', () => {
    const fresh = freshOf();
    for (const index of [0, 1, 2]) fresh.came(messageAt(1 + index, ['call', index, 3]));
    fresh.keepOnly(2);
    expect(fresh.visible(0)).toBe(2);
  });

  test('tells of those that it gave up by their sequences, and takes them back in order', () => {
    const fresh = freshOf();
    for (let sequence = 1; sequence <= 5; sequence += 1) fresh.came(messageAt(sequence));
    fresh.keepOnly(2);
    fresh.came(messageAt(7));
    expect([sequencesOf(fresh), fresh.behind(9), fresh.isWhole]).toEqual([
      [1, 2],
      [3, 4, 5, 7],
      false,
    ]);
    fresh.keep((sequence) => sequence !== 4);
    expect(fresh.behind(2)).toEqual([3, 5]);
    // The other is gone.
    fresh.recall([3, 5], [messageAt(3)]);
    expect([sequencesOf(fresh), fresh.behind(9)]).toEqual([[1, 2, 3], [7]]);
    // As it was before: others are first by now.
    fresh.recall([3, 5], [messageAt(3)]);
    fresh.recall([7], [messageAt(7)]);
    expect([sequencesOf(fresh), fresh.isWhole]).toEqual([[1, 2, 3, 7], true]);
  });

  test('takes an open call back as open, and shows it once it has ended', () => {
    const fresh = freshOf();
    fresh.came(messageAt(1));
    for (const index of [0, 1]) fresh.came(messageAt(2 + index, ['call', index, 4]));
    fresh.keepOnly(1);
    fresh.came(messageAt(4, ['call', 2, 4]));
    fresh.recall([2, 3], [messageAt(2, ['call', 0, 4]), messageAt(3, ['call', 1, 4])]);
    expect([sequencesOf(fresh), fresh.visible(0)]).toEqual([[1, 2, 3], 1]);
    expect(fresh.came(messageAt(5, ['call', 3, 4]))).toBe(true);
    expect(fresh.visible(0)).toBe(3);
    fresh.recall([4, 5], [messageAt(4, ['call', 2, 4]), messageAt(5, ['call', 3, 4])]);
    expect([fresh.visible(0), fresh.isWhole]).toEqual([5, true]);
  });

  test('takes a call back as whole that ended while it was not kept', () => {
    const fresh = freshOf();
    for (const index of [0, 1]) fresh.came(messageAt(1 + index, ['call', index, 3]));
    fresh.keepOnly(0);
    fresh.came(messageAt(3, ['call', 2, 3]));
    fresh.recall([1, 2], [messageAt(1, ['call', 0, 3]), messageAt(2, ['call', 1, 3])]);
    expect(fresh.visible(0)).toBe(2);
  });

  test('tells of none where those that are known are too few and others may follow', () => {
    const fresh = freshOf();
    for (let sequence = 1; sequence <= 3; sequence += 1) fresh.came(messageAt(sequence));
    fresh.replace({ messages: [messageAt(1), messageAt(2)], isWhole: false, ended: new Set() });
    fresh.keepOnly(1);
    fresh.came(messageAt(9));
    expect([fresh.behind(1), fresh.behind(2)]).toEqual([[2], []]);
  });

  test('hides what remains of an open call when its first messages are gone', () => {
    const fresh = freshOf();
    for (const index of [0, 1]) fresh.came(messageAt(1 + index, ['call', index, 3]));
    fresh.keep((sequence) => sequence > 1);
    expect([sequencesOf(fresh), fresh.visible(0)]).toEqual([[2], 0]);
  });
});

const MAX_KEPT = 400;
const REQUEST = {
  tiers: ['healthy'],
  maxMessages: 30,
  maxBytes: 1e6,
  leaseMs: 60_000,
} as const satisfies ClaimRequest;

const inMind = ({ work }: Opened): number =>
  [...work.views].reduce((sum, { kept }) => sum + kept, 0);

const deliver = async ({ rows, work, followUps, session }: Opened, claim: Claim) => {
  const view = work.viewOf(claim.applicationId);
  const verdicts = claim.messages.map(() => DELIVERED);
  await rows.change(view, (row) =>
    settle(row, claim.id, {
      verdicts,
      update: { ...ROW, waitMs: 0 },
      nowMs: session.time.now(),
    }),
  );
  await followUps.run(view);
};

const fill = async (queue: Opened, applications: number, each: number, first = 0) => {
  for (let index = 0; index < applications; index += 1) {
    const entries = Array.from({ length: each }, (_, number) =>
      entryOf(`app-${index}`, { messageId: `${index}.${first + number}` }),
    );
    await queue.intake.enqueue(entries);
  }
};

describe.runIf(natsProgram !== undefined)('a process with more than it may keep in mind', () => {
  let server: NatsServer;
  let made = 0;

  beforeAll(async () => {
    server = await NatsServer.start();
  });

  afterAll(() => server.stop());

  const open = async (prefix: string): Promise<Opened> => {
    const options = readQueueOptions({ connection: { servers: server.address }, prefix });
    const queue = await opened(options, {
      clock: systemClock,
      newId,
      load: loadNats,
      maxKept: MAX_KEPT,
      beginning: () => ({ row: ROW, lingerMs: 0 }),
      ring: () => {},
    });
    onTestFinished(() => queue.end());
    return queue;
  };

  const started = async (): Promise<{ readonly queue: Opened; readonly prefix: string }> => {
    made += 1;
    const prefix = `room-${made}`;
    await createJetStreamStreams({ connection: { servers: server.address }, prefix });
    return { queue: await open(prefix), prefix };
  };

  test.each(['that comes in', 'that was there'])(
    'keeps no more of what waits %s, and delivers all of it, in order',
    async (which) => {
      const [applications, each] = [20, 100];
      const { queue: agent, prefix } = await started();
      const queue = await open(prefix);
      if (which === 'that comes in') await queue.claiming.claim(REQUEST);
      await fill(agent, applications, each);
      const delivered = new Map<string, string[]>();
      let most = 0;
      let claims = 0;
      for (;;) {
        const claim = await queue.claiming.claim(REQUEST);
        most = Math.max(most, inMind(queue));
        if (!isClaim(claim)) break;
        claims += 1;
        const sofar = delivered.get(claim.applicationId) ?? [];
        delivered.set(claim.applicationId, [...sofar, ...idsOf(claim)]);
        await deliver(queue, claim);
      }
      // A page that is being claimed comes on top.
      expect(most).toBeLessThanOrEqual(MAX_KEPT + REQUEST.maxMessages + 1);
      expect(most).toBeGreaterThan(0);
      expect(delivered.size).toBe(applications);
      for (const [id, ids] of delivered) {
        const index = id.slice('app-'.length);
        expect(ids).toEqual(Array.from({ length: each }, (_, number) => `${index}.${number}`));
      }
      // Full ones, though only a part of each is in mind: 30, 30, 30 and 10.
      expect(claims).toBe(applications * 4);
      expect(await queue.stats.read()).toMatchObject({ delivered: 2000, pending: 0 });
    },
  );

  test('serves a small application beside full ones when it is its turn', async () => {
    const { queue } = await started();
    expect(await queue.claiming.claim(REQUEST)).toEqual({});
    await fill(queue, 5, 300);
    await queue.intake.enqueue([entryOf('small', { messageId: 'a' })]);
    const served: string[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const claim = await queue.claiming.claim(REQUEST);
      if (isClaim(claim)) served.push(claim.applicationId);
    }
    expect(served.toSorted()).toEqual(['app-0', 'app-1', 'app-2', 'app-3', 'app-4', 'small']);
    expect(inMind(queue)).toBeLessThanOrEqual(MAX_KEPT + REQUEST.maxMessages + 1);
    const { pending, applications } = await queue.stats.read();
    expect([pending, applications.get('small')?.pending]).toEqual([1501, 1]);
  });

  test('reads of large messages no more than a claim takes', async () => {
    const { queue } = await started();
    expect(await queue.claiming.claim(REQUEST)).toEqual({});
    await fill(queue, 5, 300);
    const before = inMind(queue);
    // Of 100 bytes each: 50 messages.
    const claim = await queue.claiming.claim({ ...REQUEST, maxMessages: 300, maxBytes: 5000 });
    expect(isClaim(claim) && idsOf(claim)).toHaveLength(50);
    expect(inMind(queue)).toBeLessThan(before + 128);
  });

  test('ends what is over at the horizon as many at once as ever', async () => {
    const { queue } = await started();
    expect(await queue.claiming.claim(REQUEST)).toEqual({});
    await fill(queue, 5, 300);
    const expired = await queue.ends.expire(-1000, 1000);
    expect(expired).toHaveLength(1000);
    expect(await queue.ends.expire(-1000, 1000)).toHaveLength(500);
    expect(await queue.stats.read()).toMatchObject({ pending: 0, dead: 1500 });
  });

  test('closes an application of which it keeps a part as far as it is asked to', async () => {
    const { queue } = await started();
    expect(await queue.claiming.claim(REQUEST)).toEqual({});
    await fill(queue, 5, 300);
    expect(await queue.ends.close('app-0', 250)).toHaveLength(250);
    expect(await queue.ends.close('app-0', 250)).toHaveLength(50);
    expect(await queue.ends.close('app-0', 250)).toEqual([]);
  });
});
