/** What every store of incidents has to do. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { IncidentReport, IncidentStore } from '../../src/incident/incident-store.ts';
import { createMemoryIncidents } from '../../src/incident/memory-incidents.ts';

export const DAY_MS = 86_400_000;

export interface IncidentLimits {
  readonly maxIncidents?: number;
  readonly maxNames?: number;
}

export interface IncidentTrial {
  readonly store: IncidentStore;
  /** So much time passes. */
  readonly pass: (ms: number) => Promise<unknown>;
  readonly dispose: () => Promise<unknown>;
}

interface Harness {
  /** An empty store. */
  readonly create: (limits?: IncidentLimits) => Promise<IncidentTrial>;
  /** It takes limits. */
  readonly isBounded: boolean;
}

export const reportOf = (given: Partial<IncidentReport> = {}): IncidentReport => ({
  applicationId: 'shop-1',
  incidentId: 'incident-1',
  channel: 'webhook',
  at: 1000,
  addresses: [],
  accounts: [],
  ...given,
});

const anyNames = fc.array(
  fc.constantFrom('a', 'b', '\u0000', '"', '\ud83d', 'x'.repeat(5000), `${'x'.repeat(5000)}y`),
  { maxLength: 4 },
);

const anySteps = fc.array(
  fc.record({
    report: fc.record({
      applicationId: fc.constantFrom('shop', 'shop\n', ''),
      incidentId: fc.constantFrom('1', '\n1', 'y'.repeat(5000), '\udc00'),
      channel: fc.constantFrom('log' as const, 'webhook' as const),
      at: fc.integer({ min: 0, max: 2 ** 41 }),
      addresses: anyNames,
      accounts: anyNames,
    }),
    isRetracted: fc.boolean(),
  }),
  { maxLength: 30 },
);

export function describeIncidentStore(
  title: string,
  { create, isBounded }: Harness,
  runs: number,
): void {
  let trial: IncidentTrial;

  const told = async (given?: Partial<IncidentReport>) => await trial.store.record(reportOf(given));

  beforeEach(async () => {
    trial = await create();
  });
  afterEach(async () => void (await trial.dispose()));

  async function bounded(limits: IncidentLimits): Promise<void> {
    await trial.dispose();
    trial = await create(limits);
  }

  describe(`an incident in ${title}`, () => {
    test('is created by its first report and updated by every later one', async () => {
      const nothing = { newAddresses: [], newAccounts: [] };
      expect(await told()).toEqual({ isFirst: true, startedAt: 1000, ...nothing });
      for (const at of [5000, 6000]) {
        expect(await told({ at })).toEqual({ isFirst: false, startedAt: 1000, ...nothing });
      }
    });

    test('is created on each channel, and began when either was told', async () => {
      await told({ channel: 'log' });
      expect(await told({ at: 2000 })).toMatchObject({ isFirst: true, startedAt: 1000 });
      expect(await told({ channel: 'log' })).toMatchObject({ isFirst: false });
    });

    test.each([
      [{ applicationId: 'shop-2' }],
      [{ incidentId: 'incident-2' }],
      // The two ids together are the same text.
      [{ applicationId: 'shop-1","incident', incidentId: '-1' }],
    ])('is another one with %j', async (given) => {
      await told();
      expect(await told(given)).toMatchObject({ isFirst: true });
    });

    test('has as news what no report on the channel has named, each once, in order', async () => {
      const first = await told({ addresses: ['b', 'a', 'b'], accounts: ['a'] });
      expect([first.newAddresses, first.newAccounts]).toEqual([['b', 'a'], ['a']]);
      const second = await told({ addresses: ['b', 'c'], accounts: ['b', 'a'] });
      expect([second.newAddresses, second.newAccounts]).toEqual([['c'], ['b']]);
      const onLog = await told({ channel: 'log', addresses: ['a'] });
      expect(onLog.newAddresses).toEqual(['a']);
    });

    test('is created by a later report where the first was retracted', async () => {
      const given = { addresses: ['a'], accounts: ['x'] };
      await trial.store.retract(reportOf(given), await told(given));
      expect(await told({ ...given, at: 9000 })).toEqual({
        isFirst: true,
        startedAt: 1000,
        newAddresses: ['a'],
        newAccounts: ['x'],
      });
    });

    test('stays created on the other channel where it was retracted on one', async () => {
      await told({ channel: 'log' });
      await trial.store.retract(reportOf(), await told());
      expect(await told({ channel: 'log' })).toMatchObject({ isFirst: false });
      expect(await told()).toMatchObject({ isFirst: true });
    });

    test('stays created where an update was retracted, whose names are new again', async () => {
      await told({ addresses: ['a'] });
      const update = { addresses: ['a', 'b'] };
      await trial.store.retract(reportOf(update), await told(update));
      expect(await told(update)).toMatchObject({ isFirst: false, newAddresses: ['b'] });
    });

    test('that is not known is retracted without a word', async () => {
      const news = { isFirst: true, startedAt: 0, newAddresses: ['a'], newAccounts: [] };
      await trial.store.retract(reportOf(), news);
      expect(await told({ addresses: ['a'] })).toMatchObject({ isFirst: true });
    });

    test('is created by one of many first reports at the same time, and each name is new once', async () => {
      const given = Array.from({ length: 20 }, (_, index) => ({ addresses: [`${index % 4}`] }));
      const news = await Promise.all(given.map(told));
      expect(news.filter(({ isFirst }) => isFirst)).toHaveLength(1);
      const names = news.flatMap(({ newAddresses }) => newAddresses);
      expect(names.toSorted()).toEqual(['0', '1', '2', '3']);
    });

    test('has thousands of names, of which only new ones are told again', async () => {
      const addresses = Array.from({ length: 3000 }, (_, index) => `${index}`);
      expect(await told({ addresses })).toMatchObject({ newAddresses: addresses });
      const news = await told({ addresses: [...addresses, 'new'].toReversed() });
      expect(news).toMatchObject({ isFirst: false, newAddresses: ['new'] });
    });

    test('is told as in memory, whatever is told and retracted', async () => {
      const property = fc.asyncProperty(anySteps, async (steps) => {
        await bounded({});
        const memory = createMemoryIncidents();
        for (const { report, isRetracted } of steps) {
          const news = await trial.store.record(report);
          expect(news).toEqual(await memory.record(report));
          if (!isRetracted) continue;
          await trial.store.retract(report, news);
          await memory.retract(report, news);
        }
      });
      await fc.assert(property, { numRuns: runs });
    });
  });

  describe(`of what is kept in ${title}, an incident`, () => {
    test('is forgotten, with its names, when it was not told of for 30 days', async () => {
      const names = { addresses: ['a'], accounts: ['b'] };
      await told(names);
      await trial.pass(29 * DAY_MS);
      expect(await told(names)).toMatchObject({ isFirst: false, newAddresses: [] });
      await trial.pass(29 * DAY_MS);
      expect(await told()).toMatchObject({ isFirst: false });
      await trial.pass(31 * DAY_MS);
      expect(await told({ at: 5, ...names })).toEqual({
        isFirst: true,
        startedAt: 5,
        newAddresses: ['a'],
        newAccounts: ['b'],
      });
    });

    test('goes by the time of the store, whatever the reports say', async () => {
      await told({ at: 9_999_999_999_999 });
      expect(await told({ at: 0 })).toMatchObject({ isFirst: false });
      await trial.pass(31 * DAY_MS);
      expect(await told({ at: 0 })).toMatchObject({ isFirst: true });
    });
  });

  describe.runIf(isBounded)(`the limits of ${title}`, () => {
    test('leave as many incidents as asked for: what was seen longest ago goes', async () => {
      await bounded({ maxIncidents: 2 });
      for (const incidentId of ['a', 'b', 'a', 'c']) {
        await told({ incidentId });
        await trial.pass(1);
      }
      expect(await told({ incidentId: 'a' })).toMatchObject({ isFirst: false });
      expect(await told({ incidentId: 'b' })).toMatchObject({ isFirst: true });
    });

    test('leave as many names as asked for: those of the other incidents go first', async () => {
      await bounded({ maxNames: 3 });
      await told({ incidentId: 'a', addresses: ['1', '2'] });
      await trial.pass(1);
      await told({ incidentId: 'b', addresses: ['1', '2'] });
      expect(await told({ incidentId: 'a' })).toMatchObject({ isFirst: true });
      await trial.pass(1);
      const many = { incidentId: 'b', addresses: ['3', '4'] };
      expect(await told(many)).toMatchObject({ isFirst: false, newAddresses: ['3', '4'] });
      // One of its own names went then.
      const again = await told({ incidentId: 'b', addresses: ['4', '3', '2', '1'] });
      expect(again).toMatchObject({ isFirst: false });
      expect(again.newAddresses).toHaveLength(1);
    });

    test('count no names that were retracted or forgotten', async () => {
      await bounded({ maxNames: 2 });
      for (let round = 0; round < 5; round += 1) {
        const given = { addresses: ['1'], accounts: ['1'] };
        await trial.store.retract(reportOf(given), await told(given));
      }
      await told({ incidentId: 'old', addresses: ['1'] });
      await trial.pass(31 * DAY_MS);
      await told({ incidentId: 'old', addresses: ['2'] });
      await told({ addresses: ['1'] });
      expect(await told({ incidentId: 'old' })).toMatchObject({ isFirst: false });
      expect(await told()).toMatchObject({ isFirst: false });
    });
  });
}
