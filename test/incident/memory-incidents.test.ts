import { describe, expect, test } from 'vitest';
import type { IncidentReport, IncidentStore } from '../../src/incident/incident-store.ts';
import { createMemoryIncidents, makeMemoryIncidents } from '../../src/incident/memory-incidents.ts';
import { describeIncidentStore, reportOf } from './describe-incident-store.ts';

const record = async (store: IncidentStore, given?: Partial<IncidentReport>) =>
  await store.record(reportOf(given));

describeIncidentStore('memory', {
  create: (limits) => {
    const { time, store } = timed(limits);
    const pass = async (ms: number): Promise<void> => {
      time.nowMs += ms;
    };
    return Promise.resolve({ store, pass, dispose: async () => {} });
  },
  isBounded: true,
});

/** Makes a store whose clock the test sets. */
function timed(options: Parameters<typeof createMemoryIncidents>[0] = {}) {
  const time = { nowMs: 0 };
  return { time, store: makeMemoryIncidents(options, { monotonicMs: () => time.nowMs }) };
}

describe('an incident store in memory', () => {
  test('forgets expired incidents when others are reported', async () => {
    const { time, store } = timed({ retentionMs: 1000, maxAddressesAndAccounts: 2 });
    await record(store, { incidentId: 'old', addresses: ['1', '2'] });
    time.nowMs = 500;
    await record(store, { incidentId: 'young' });
    time.nowMs = 1001;
    const both = { incidentId: 'new', addresses: ['1', '2'] };
    await record(store, both);
    expect(await record(store, { incidentId: 'young' })).toMatchObject({ isFirst: false });
    expect(await record(store, both)).toMatchObject({ newAddresses: [] });
  });

  test.each([
    ['maxIncidents', 0],
    ['maxIncidents', 10_000_001],
    ['maxAddressesAndAccounts', 1.5],
    ['maxAddressesAndAccounts', 100_000_001],
    ['retentionMs', 0],
    ['retentionMs', Number.POSITIVE_INFINITY],
    ['maxKept', 1],
  ])('refuses the option %s: %j', (option, value) => {
    expect(() => createMemoryIncidents({ [option]: value })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [option] }),
    );
  });
});
