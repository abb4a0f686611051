/** What a process keeps in mind of what waits: bounded over all applications, and nothing is lost by it. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { FreshMessages } from '../../../src/queue/jetstream/fresh-messages.ts';
import { FreshRoom, shareOf } from '../../../src/queue/jetstream/fresh-room.ts';
import { readQueueOptions } from '../../../src/queue/jetstream/jetstream-options.ts';
import { KnownRow } from '../../../src/queue/jetstream/known-row.ts';
import { loadNats } from '../../../src/queue/jetstream/load-nats.ts';
import { type Opened, opened } from '../../../src/queue/jetstream/opened.ts';
import { settle } from '../../../src/queue/jetstream/row-settle.ts';
import type { Beginning } from '../../../src/queue/jetstream/session.ts';
import { createJetStreamStreams } from '../../../src/queue/jetstream.ts';
import type { Claim, ClaimRequest } from '../../../src/queue/queue.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { newId } from '../../../src/system/id.ts';
import { hasSoundServer, NatsServer } from '../../helpers/nats-server.ts';
import { DELIVERED, entryOf, idsOf, isClaim, ROW } from '../conformance/trial.ts';
import { keeperOf } from './listed.ts';
import { messageAt } from './message-at.ts';

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

const roomOf = (max: number, applications: number) => {
  const all: FreshMessages[] = [];
  const room = new FreshRoom(() => all.map(keeperOf), max);
  for (let index = 0; index < applications; index += 1) all.push(new FreshMessages(room, true));
  const kept = (): number => all.reduce((sum, { messages }) => sum + messages.length, 0);
  return { all, kept };
};

describe('the room of all applications', () => {
  test('has one of each beyond its bound, and is held again once these are gone', () => {
    const { all, kept } = roomOf(100, 500);
    for (const [index, one] of all.entries()) one.came(messageAt(index + 1));
    expect(kept()).toBe(500);
    for (const one of all) one.keep(() => false);
    for (let sequence = 501; sequence <= 1000; sequence += 1)
      all[sequence % 3]?.came(messageAt(sequence));
    expect(kept()).toBeLessThanOrEqual(100);
  });
});

const MAX_KEPT = 400;
const REQUEST = {
  tiers: ['healthy'],
  maxMessages: 30,
  maxBytes: 1e6,
  leaseMs: 60_000,
} as const satisfies ClaimRequest;

const BEGINNING: Beginning = { row: ROW, lingerMs: 0 };

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

describe.runIf(hasSoundServer)('a process with more than it may keep in mind', () => {
  let server: NatsServer;
  let made = 0;

  beforeAll(async () => {
    server = await NatsServer.start();
  });

  afterAll(() => server.stop());

  const open = async (prefix: string, beginning: Beginning = BEGINNING): Promise<Opened> => {
    const options = readQueueOptions({ connection: { servers: server.address }, prefix });
    const queue = await opened(options, {
      clock: systemClock,
      newId,
      load: loadNats,
      maxKept: MAX_KEPT,
      beginning: () => beginning,
      ring: () => {},
    });
    onTestFinished(() => queue.end());
    return queue;
  };

  const started = async (
    beginning: Beginning = BEGINNING,
  ): Promise<{ readonly queue: Opened; readonly prefix: string }> => {
    made += 1;
    const prefix = `room-${made}`;
    await createJetStreamStreams({ connection: { servers: server.address }, prefix });
    return { queue: await open(prefix, beginning), prefix };
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

  test('ends what came with a past though others that are not over wait before it', async () => {
    const { queue } = await started();
    expect(await queue.claiming.claim(REQUEST)).toEqual({});
    await fill(queue, 1, 500);
    const past = { sends: 1, ageMs: 1e9, dueInMs: 0, progress: null };
    const old = ['a', 'b'].map((messageId) => ({ ...entryOf('app-0', { messageId }), past }));
    await queue.intake.enqueue(old);
    const expired = await queue.ends.expire(5e8, 1000);
    expect(queue.work.viewOf('app-0').kept).toBeGreaterThan(0);
    expect(expired.map(({ messageId }) => messageId)).toEqual(['a', 'b']);
  });

  test('looks for what is over at no application of which nothing can be', async () => {
    const { queue } = await started();
    await fill(queue, 3, 40);
    const claim = await queue.claiming.claim(REQUEST);
    expect(isClaim(claim)).toBe(true);
    // As it does the first time: what waited before it began is not known.
    expect(await queue.ends.expire(1e9, 1000)).toEqual([]);
    const readOut = vi.spyOn(KnownRow.prototype, 'state', 'get');
    onTestFinished(() => readOut.mockRestore());
    expect(await queue.ends.expire(1e9, 1000)).toEqual([]);
    expect(readOut).not.toHaveBeenCalled();
  });

  test('lets messages wait for company as long as if it kept all of them', async () => {
    const { queue } = await started({ row: { ...ROW, maxMessages: 100 }, lingerMs: 60_000 });
    expect(await queue.claiming.claim(REQUEST)).toEqual({});
    await fill(queue, 5, 90);
    await queue.work.ready();
    // As when rows come in.
    for (const view of queue.work.views) queue.work.place(view);
    expect(await queue.claiming.claim(REQUEST)).toMatchObject({
      dueInMs: expect.toSatisfy((ms: number) => ms > 30_000),
    });
    expect([...queue.work.views].some(({ isWhole }) => !isWhole)).toBe(true);
    // 100 are company enough.
    await fill(queue, 1, 10, 90);
    expect(await queue.claiming.claim(REQUEST)).toMatchObject({ applicationId: 'app-0' });
  });

  test('moves what another process had written to meanwhile', async () => {
    const { queue, prefix } = await started();
    const other = await open(prefix);
    expect(await queue.claiming.claim(REQUEST)).toEqual({});
    await fill(queue, 1, 3);
    const write = queue.rows.write.bind(queue.rows);
    const once = vi.spyOn(queue.rows, 'write').mockImplementationOnce(async (...written) => {
      await other.work.ready();
      const view = other.work.viewOf('app-0');
      await other.rows.change(view, (row) => ({ ...row, notBeforeMs: row.notBeforeMs + 1 }));
      return await write(...written);
    });
    const claim = await queue.claiming.claim({ ...REQUEST, early: true });
    expect(once).toHaveBeenCalledTimes(2);
    expect(isClaim(claim) && idsOf(claim)).toHaveLength(3);
  });
});
