import { describe, expect, test } from 'vitest';
import type { IncidentReport, IncidentStore } from '../../src/incident/incident-store.ts';
import { createMemoryIncidents, makeMemoryIncidents } from '../../src/incident/memory-incidents.ts';
import { DAY_MS, describeIncidentStore, reportOf } from './describe-incident-store.ts';

const told = async (store: IncidentStore, given?: Partial<IncidentReport>) =>
  await store.record(reportOf(given));

describeIncidentStore(
  'memory',
  {
    create: (limits) => {
      const { time, store } = timed(limits);
      const pass = async (ms: number): Promise<void> => {
        time.nowMs += ms;
      };
      return Promise.resolve({ store, pass, dispose: async () => {} });
    },
    isBounded: true,
  },
  100,
);

/** Its time is what the test says. */
function timed(options: Parameters<typeof createMemoryIncidents>[0] = {}) {
  const time = { nowMs: 0 };
  return { time, store: makeMemoryIncidents(options, { monotonicMs: () => time.nowMs }) };
}

describe('what is kept', () => {
  test('is kept for 30 days since it was last told of', async () => {
    const { time, store } = timed();
    await told(store, { at: 0 });
    time.nowMs = 30 * DAY_MS;
    await told(store, { at: 5 });
    time.nowMs = 60 * DAY_MS;
    expect(await told(store, { at: 5 })).toMatchObject({ isFirst: false, startedAt: 0 });
    time.nowMs = 90 * DAY_MS + 1;
    expect(await told(store, { at: 7 })).toMatchObject({ isFirst: true, startedAt: 7 });
  });

  test('goes by the clock of the store, whatever the reports say', async () => {
    const { time, store } = timed({ keptMs: 1000 });
    await told(store, { incidentId: 'future', at: Number.MAX_SAFE_INTEGER });
    await told(store, { at: 9_999_999 });
    expect(await told(store, { at: 0 })).toMatchObject({ isFirst: false });
    expect(await told(store, { at: 1e15 })).toMatchObject({ isFirst: false });
    time.nowMs = 1001;
    expect(await told(store, { incidentId: 'future', at: 0 })).toMatchObject({ isFirst: true });
  });

  test('forgets what is over even where nobody asks for it', async () => {
    const { time, store } = timed({ keptMs: 1000, maxNames: 2 });
    await told(store, { incidentId: 'old', addresses: ['1', '2'] });
    time.nowMs = 500;
    await told(store, { incidentId: 'young' });
    time.nowMs = 1001;
    const both = { incidentId: 'new', addresses: ['1', '2'] };
    await told(store, both);
    expect(await told(store, { incidentId: 'young' })).toMatchObject({ isFirst: false });
    expect(await told(store, both)).toMatchObject({ newAddresses: [] });
  });

  test('tells long ids and names apart, though it keeps no more than their digests', async () => {
    const store = createMemoryIncidents({ maxNames: 2000 });
    const long = 'x'.repeat(10_000);
    for (let number = 0; number < 50; number += 1) {
      const name = `${long}${number}`;
      const given = { incidentId: name, addresses: [name], accounts: [name] };
      expect(await told(store, given)).toMatchObject({ newAddresses: [name], isFirst: true });
      expect(await told(store, given)).toMatchObject({ newAccounts: [], isFirst: false });
      await store.retract(reportOf(given), {
        isFirst: false,
        startedAt: 0,
        newAddresses: [name],
        newAccounts: [],
      });
      expect(await told(store, given)).toMatchObject({ newAddresses: [name], newAccounts: [] });
    }
  });

  test('is as many names as asked for, those of the other incidents first', async () => {
    const store = createMemoryIncidents({ maxNames: 3 });
    await told(store, { incidentId: 'a', addresses: ['1', '2'] });
    await told(store, { incidentId: 'b', addresses: ['1', '2'] });
    expect(await told(store, { incidentId: 'a' })).toMatchObject({ isFirst: true });
    const many = { incidentId: 'b', addresses: ['3', '4'] };
    expect(await told(store, many)).toMatchObject({ isFirst: false, newAddresses: ['3', '4'] });
    // The oldest of its own names went then.
    const again = { incidentId: 'b', addresses: ['4', '3', '2', '1'] };
    expect(await told(store, again)).toMatchObject({ newAddresses: ['1'] });
  });

  test.each([
    ['maxIncidents', 0],
    ['maxIncidents', 10_000_001],
    ['maxNames', 1.5],
    ['maxNames', 100_000_001],
    ['keptMs', 0],
    ['keptMs', Number.POSITIVE_INFINITY],
    ['maxKept', 1],
  ])('cannot be asked for as %s: %j', (option, value) => {
    expect(() => createMemoryIncidents({ [option]: value })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [option] }),
    );
  });
});
