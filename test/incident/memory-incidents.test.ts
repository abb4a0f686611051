import { describe, expect, test } from 'vitest';
import type { IncidentReport, IncidentStore } from '../../src/incident/incident-store.ts';
import { createMemoryIncidents, makeMemoryIncidents } from '../../src/incident/memory-incidents.ts';

const DAY_MS = 86_400_000;

const report = (given: Partial<IncidentReport> = {}): IncidentReport => ({
  applicationId: 'shop-1',
  incidentId: 'incident-1',
  channel: 'webhook',
  at: 1000,
  addresses: [],
  accounts: [],
  ...given,
});

const told = async (store: IncidentStore, given?: Partial<IncidentReport>) =>
  await store.tell(report(given));

describe('an incident', () => {
  test('is created by its first report and updated by every later one', async () => {
    const store = createMemoryIncidents();
    expect(await told(store)).toEqual({
      isFirst: true,
      startedAt: 1000,
      newAddresses: [],
      newAccounts: [],
    });
    expect(await told(store, { at: 5000 })).toMatchObject({ isFirst: false, startedAt: 1000 });
    expect(await told(store, { at: 6000 })).toMatchObject({ isFirst: false, startedAt: 1000 });
  });

  test('is created on each channel, and began when either was told', async () => {
    const store = createMemoryIncidents();
    await told(store, { channel: 'log' });
    expect(await told(store, { at: 2000 })).toMatchObject({ isFirst: true, startedAt: 1000 });
    expect(await told(store, { channel: 'log' })).toMatchObject({ isFirst: false });
  });

  test.each([
    [{ applicationId: 'shop-2' }],
    [{ incidentId: 'incident-2' }],
    // The two ids together are the same text.
    [{ applicationId: 'shop-1","incident', incidentId: '-1' }],
  ])('is another one with %j', async (given) => {
    const store = createMemoryIncidents();
    await told(store);
    expect(await told(store, given)).toMatchObject({ isFirst: true });
  });

  test('has as news what no report on the channel has named, each once', async () => {
    const store = createMemoryIncidents();
    const first = await told(store, { addresses: ['a', 'b', 'a'], accounts: ['a'] });
    expect([first.newAddresses, first.newAccounts]).toEqual([['a', 'b'], ['a']]);
    const second = await told(store, { addresses: ['b', 'c'], accounts: ['b', 'a'] });
    expect([second.newAddresses, second.newAccounts]).toEqual([['c'], ['b']]);
    const onLog = await told(store, { channel: 'log', addresses: ['a'] });
    expect(onLog.newAddresses).toEqual(['a']);
  });

  test('is created by a later report where the first was retracted', async () => {
    const store = createMemoryIncidents();
    const given = { addresses: ['a'], accounts: ['x'] };
    const news = await told(store, given);
    await store.retract(report(given), news);
    expect(await told(store, { ...given, at: 9000 })).toEqual({
      isFirst: true,
      startedAt: 1000,
      newAddresses: ['a'],
      newAccounts: ['x'],
    });
  });

  test('stays created where an update was retracted, whose names are new again', async () => {
    const store = createMemoryIncidents();
    await told(store, { addresses: ['a'] });
    const update = { addresses: ['a', 'b'] };
    await store.retract(report(update), await told(store, update));
    expect(await told(store, update)).toMatchObject({ isFirst: false, newAddresses: ['b'] });
  });

  test('that is not known is retracted without a word', async () => {
    const store = createMemoryIncidents();
    const news = { isFirst: true, startedAt: 0, newAddresses: [], newAccounts: [] };
    await store.retract(report(), news);
    expect(await told(store)).toMatchObject({ isFirst: true });
  });
});

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
      await store.retract(report(given), {
        isFirst: false,
        startedAt: 0,
        newAddresses: [name],
        newAccounts: [],
      });
      expect(await told(store, given)).toMatchObject({ newAddresses: [name], newAccounts: [] });
    }
  });

  test('is as many incidents as asked for: what was seen longest ago goes', async () => {
    const store = createMemoryIncidents({ maxIncidents: 2 });
    await told(store, { incidentId: 'a' });
    await told(store, { incidentId: 'b' });
    await told(store, { incidentId: 'a' });
    await told(store, { incidentId: 'c' });
    expect(await told(store, { incidentId: 'a' })).toMatchObject({ isFirst: false });
    expect(await told(store, { incidentId: 'b' })).toMatchObject({ isFirst: true });
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

  test('frees the room of names that were retracted or forgotten', async () => {
    const { time, store } = timed({ maxNames: 2, keptMs: 1000 });
    for (let round = 0; round < 5; round += 1) {
      const given = { addresses: ['1'], accounts: ['1'] };
      await store.retract(report(given), await told(store, given));
    }
    await told(store, { incidentId: 'old', addresses: ['1'] });
    time.nowMs = 3000;
    await told(store, { incidentId: 'old', addresses: ['2'] });
    await told(store, { addresses: ['1'] });
    expect(await told(store, { incidentId: 'old' })).toMatchObject({ isFirst: false });
    expect(await told(store)).toMatchObject({ isFirst: false });
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
