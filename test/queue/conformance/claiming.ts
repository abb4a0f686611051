/** Laws 2 to 4: which messages a claim has, how it is settled, and whose turn it is. */
import { describe, expect, test } from 'vitest';
import type { QueueEntry } from '../../../src/queue/queue.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import type { QueueHarness } from './harness.ts';
import {
  DELIVERED,
  entryOf,
  failedWith,
  INITIAL,
  idsOf,
  isClaim,
  LAST,
  manyOf,
  retry,
  Trial,
} from './trial.ts';

/** More than fit in any claim, so that most of them wait behind it. */
const BLACK_HOLE_MESSAGES = quickOrNightly(2000, 99_000);

export function describeClaiming(harness: QueueHarness): void {
  describe('a claim', () => {
    test.each([
      { title: 'as many bytes as the limit', sizes: [20, 20, 20], maxBytes: 40, claimed: 2 },
      { title: 'nothing behind one too large', sizes: [1, 99, 1], maxBytes: 60, claimed: 1 },
    ])('has $title of the request or the state', async ({ sizes, maxBytes, claimed }) => {
      const trial = await Trial.start(harness);
      await trial.queue.enqueue(sizes.map((sizeBytes) => entryOf('one', { sizeBytes })));
      const byRequest = await trial.claim({ maxBytes });
      await trial.settle(byRequest, retry(0), { maxBytes });
      const byState = await trial.claim();
      const counts = [byRequest, byState].map(({ messages }) => messages.length);
      expect(counts).toEqual([claimed, claimed]);
    });

    test('has one message even if the request allows none', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      expect(idsOf(await trial.claim({ maxMessages: 0 }))).toEqual(['a']);
    });

    test('has each message as it was accepted, byte by byte', async () => {
      const trial = await Trial.start(harness);
      const contents = [
        Buffer.alloc(0),
        Buffer.from([0]),
        Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
        Buffer.from('{"a":"\u00e4\u{1f512}"}'),
        Buffer.alloc(1_100_000, 'x\u00ff', 'latin1'),
      ];
      const entries = contents.map((bytes) => entryOf('one', { bytes, sizeBytes: 1 }));
      const given = entries.map(({ stored, ...entry }) => ({
        ...entry,
        stored: { ...stored, bytes: Buffer.from(stored.bytes) },
      }));
      const { sequences } = await trial.queue.enqueue(given);
      // The caller may use its buffers again.
      for (const { stored } of given) stored.bytes.fill('?');
      const { messages, ...claim } = await trial.claim();
      expect(claim).toMatchObject({ applicationId: 'one', format: 2, state: INITIAL });
      expect(messages).toHaveLength(contents.length);
      for (const [index, { stored, ...rest }] of messages.entries()) {
        const { stored: accepted } = entries[index] as QueueEntry;
        expect(rest).toMatchObject({ sequence: sequences[index], retryCount: 0, retryState: null });
        expect({ ...stored, bytes: 0 }).toEqual({ ...accepted, bytes: 0 });
        expect(Buffer.isBuffer(stored.bytes)).toBe(true);
        expect(accepted.bytes.equals(stored.bytes)).toBe(true);
      }
    });

    test.each([
      { own: [undefined, undefined, 2, undefined], claimed: 2, when: 'one more would exceed it' },
      { own: [2, 4, undefined, undefined], claimed: 2, when: 'the next message allows more' },
    ])("keeps a message's own limit when $when", async ({ own, claimed }) => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b', 'c', 'd');
      const results = own.map((maxMessages) =>
        retry(0, maxMessages === undefined ? {} : { maxMessages }),
      );
      await trial.settle(await trial.claim(), results);
      expect(idsOf(await trial.claim())).toEqual(['a', 'b', 'c', 'd'].slice(0, claimed));
    });

    test('is the only live one of its application when many are made at once', async () => {
      const trial = await Trial.start(harness);
      const other = await trial.join();
      for (const name of ['one', 'two', 'three'])
        await trial.enqueue(name, `${name}:a`, `${name}:b`);
      const request = trial.request({ maxMessages: 1 });
      const claiming = [1, 2, 3].flatMap(() => [trial.queue.claim(request), other.claim(request)]);
      const claims = await Promise.all(claiming);
      const names = claims.filter(isClaim).map(({ applicationId }) => applicationId);
      expect(names.toSorted()).toEqual(['one', 'three', 'two']);
    });
  });

  describe('settling', () => {
    test.each([0, 1, 3])(
      'with %i results for 2 messages is rejected, and keeps the claim',
      async (count) => {
        const trial = await Trial.start(harness);
        await trial.enqueue('one', 'a', 'b');
        const claim = await trial.claim();
        const results = Array<typeof DELIVERED>(count).fill(DELIVERED);
        const refused = failedWith(`${count} results for 2 messages`);
        await expect(trial.queue.settle(claim, results, LAST)).rejects.toEqual(refused);
        expect(await trial.counts()).toEqual([2, 0, 2, 0]);
        expect(await trial.queue.settle({ ...claim, id: 'forged' }, results, LAST)).toBe('lost');
        expect(await trial.settle(claim, DELIVERED)).toBe('settled');
      },
    );

    test('keeps the due time of a message that is retried without a wait', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('one', 'a', 'b');
      const claim = await trial.claim({ maxMessages: 1 });
      await trial.advance(1000);
      await trial.enqueue('one', 'c');
      await trial.settle(claim, retry(0));
      expect(idsOf(await trial.claim())).toEqual(['a', 'b', 'c']);
    });
  });

  describe('applications', () => {
    test('take turns while one of them gets new messages', async () => {
      const trial = await Trial.start(harness);
      for (const name of ['one', 'two', 'three']) await trial.enqueue(name, 'a', 'b', 'c');
      const names: string[] = [];
      for (let turn = 0; turn < 9; turn += 1) {
        await trial.enqueue('one', 'more');
        const claim = await trial.claim({ maxMessages: 1 });
        names.push(claim.applicationId);
        await trial.settle(claim, DELIVERED);
      }
      expect(names).toEqual(Array.from({ length: 3 }, () => ['one', 'two', 'three']).flat());
    });

    test('of two healths take turns when a claim accepts both', async () => {
      const trial = await Trial.start(harness);
      await trial.enqueue('ill', 'a', 'b', 'c');
      await trial.settle(await trial.claim({ maxMessages: 1 }), DELIVERED, { health: 'failing' });
      await trial.enqueue('well', 'd', 'e', 'f');
      const names: string[] = [];
      for (let turn = 0; turn < 4; turn += 1) {
        const claim = await trial.claim({ maxMessages: 1 });
        names.push(claim.applicationId);
        await trial.settle(claim, DELIVERED, { health: claim.state.health });
      }
      expect(names.slice(0, 2).toSorted()).toEqual(['ill', 'well']);
      expect(names.slice(2).toSorted()).toEqual(['ill', 'well']);
    });

    test('are served one by one beside a destination that never answers', async () => {
      const trial = await Trial.start(harness);
      for (let left = BLACK_HOLE_MESSAGES; left > 0; left -= 1000) {
        await trial.queue.enqueue(manyOf('black hole', 1000));
      }
      const names = Array.from({ length: 100 }, (_, index) => `well:${index}`);
      await trial.queue.enqueue(names.map((name) => entryOf(name)));
      const served: string[] = [];
      const hole = await trial.claim({ leaseMs: 1e9 });
      for (let claims = 0; claims < names.length; claims += 1) {
        const claim = await trial.claim();
        served.push(claim.applicationId);
        await trial.settle(claim, DELIVERED);
      }
      expect(hole.applicationId).toBe('black hole');
      expect(served.toSorted()).toEqual(names.toSorted());
      expect((await trial.nothing()).dueInMs).toBeGreaterThan(0);
    });
  });
}
