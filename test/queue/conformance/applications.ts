/** Closing and reopening an application, and the horizon (D71, D72). */
import { describe, expect, test } from 'vitest';
import type { QueueHarness } from './harness.ts';
import { DEAD, DELIVERED, INITIAL, idsOf, manyOf, Trial } from './trial.ts';

const HOSTILE_IDS = [
  '__proto__',
  '',
  'a'.repeat(200),
  'a\u0000\\u0000"',
  '\ud800 \u{1f512}',
  '{"a",NULL}',
  "'; drop schema security_events cascade; --",
];

export function describeApplications(harness: QueueHarness): void {
  describe('an application', () => {
    test.each(HOSTILE_IDS)('and a message may have the id %j', async (name) => {
      const trial = await Trial.start(harness);
      expect(await trial.queue.applicationState(name)).toBeUndefined();
      await trial.enqueue(name, name);
      await trial.enqueue('another', 'b');
      expect((await trial.queue.stats()).applications.get(name)).toMatchObject({ pending: 1 });
      const claim = await trial.claim();
      expect([claim.applicationId, idsOf(claim)]).toEqual([name, [name]]);
      expect(await trial.queue.applicationState(name)).toEqual(INITIAL);
      await trial.settle(claim, DEAD);
      const { items } = await trial.queue.listDeadLetters({ applicationId: name, limit: 9 });
      expect(items).toMatchObject([{ applicationId: name, stored: { messageId: name } }]);
      expect(await trial.queue.purgeDeadLetters({ ids: [name, `${items[0]?.id}`] })).toBe(1);
    });
  });

  describe('a closed application', () => {
    test('keeps no message of an enqueue in progress when it was closed', async () => {
      const trial = await Trial.start(harness);
      const handle = await trial.join();
      await trial.enqueue('one', 'a');
      const claim = await trial.claim();
      const entering = handle.enqueue(manyOf('one', 300));
      await trial.settle(claim, DELIVERED, { health: 'closed' });
      const { closed } = await entering;
      const dead = (await trial.queue.deadLetterClosed('one', 1000)).length;
      expect([closed, dead]).toEqual(dead === 0 ? [['one'], 0] : [[], 300]);
      expect(await trial.counts()).toEqual([dead + 1, 1, 0, dead]);
    });
  });
}
