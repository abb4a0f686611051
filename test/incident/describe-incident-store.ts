/** The laws that every incident store keeps. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { IncidentReport, IncidentStore } from '../../src/incident/incident-store.ts';
import { createMemoryIncidents } from '../../src/incident/memory-incidents.ts';

const DAY_MS = 86_400_000;

export interface IncidentLimits {
  readonly maxIncidents?: number;
  readonly maxAddressesAndAccounts?: number;
}

export interface IncidentTrial {
  readonly store: IncidentStore;
  /** Lets time pass in the store. */
  readonly pass: (ms: number) => Promise<unknown>;
  readonly dispose: () => Promise<unknown>;
}

interface Harness {
  /** An empty store. */
  readonly create: (limits?: IncidentLimits) => Promise<IncidentTrial>;
  /** Whether it takes limits. */
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

/** `runs`: how often to compare the store with the one in memory. */
export function describeIncidentStore(
  title: string,
  { create, isBounded }: Harness,
  runs = 0,
): void {
  let trial: IncidentTrial;

  const record = async (given?: Partial<IncidentReport>) =>
    await trial.store.record(reportOf(given));

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
      expect(await record()).toEqual({ isFirst: true, startedAt: 1000, ...nothing });
      for (const at of [5000, 6000]) {
        expect(await record({ at })).toEqual({ isFirst: false, startedAt: 1000, ...nothing });
      }
    });

    test('is created once on each channel, and starts with its first report on either', async () => {
      await record({ channel: 'log' });
      expect(await record({ at: 2000 })).toMatchObject({ isFirst: true, startedAt: 1000 });
      expect(await record({ channel: 'log' })).toMatchObject({ isFirst: false });
    });

    test.each([
      [{ applicationId: 'shop-2' }],
      [{ incidentId: 'incident-2' }],
      // Joined, the two ids are the same text.
      [{ applicationId: 'shop-1","incident', incidentId: '-1' }],
    ])('differs from one with %j', async (given) => {
      await record();
      expect(await record(given)).toMatchObject({ isFirst: true });
    });

    test('returns the names that are new on the channel, each once, in their order', async () => {
      const first = await record({ addresses: ['b', 'a', 'b'], accounts: ['a'] });
      expect([first.newAddresses, first.newAccounts]).toEqual([['b', 'a'], ['a']]);
      const second = await record({ addresses: ['b', 'c'], accounts: ['b', 'a'] });
      expect([second.newAddresses, second.newAccounts]).toEqual([['c'], ['b']]);
      const onLog = await record({ channel: 'log', addresses: ['a'] });
      expect(onLog.newAddresses).toEqual(['a']);
    });

    test('is created by a later report when the first was retracted', async () => {
      const given = { addresses: ['a'], accounts: ['x'] };
      await trial.store.retract(reportOf(given), await record(given));
      expect(await record({ ...given, at: 9000 })).toEqual({
        isFirst: true,
        startedAt: 1000,
        newAddresses: ['a'],
        newAccounts: ['x'],
      });
    });

    test('stays created on one channel when it is retracted on the other', async () => {
      await record({ channel: 'log' });
      await trial.store.retract(reportOf(), await record());
      expect(await record({ channel: 'log' })).toMatchObject({ isFirst: false });
      expect(await record()).toMatchObject({ isFirst: true });
    });

    test('stays created when an update is retracted, and the names of the update are new again', async () => {
      await record({ addresses: ['a'] });
      const update = { addresses: ['a', 'b'] };
      await trial.store.retract(reportOf(update), await record(update));
      expect(await record(update)).toMatchObject({ isFirst: false, newAddresses: ['b'] });
    });

    test('can be retracted when it is unknown', async () => {
      const changes = { isFirst: true, startedAt: 0, newAddresses: ['a'], newAccounts: [] };
      await trial.store.retract(reportOf(), changes);
      expect(await record({ addresses: ['a'] })).toMatchObject({ isFirst: true });
    });

    test('keeps what was reported after it was forgotten, when an earlier report is retracted', async () => {
      const forgotten = await record({ addresses: ['a'] });
      await trial.pass(31 * DAY_MS);
      await record({ at: 9000, addresses: ['a'] });
      await trial.store.retract(reportOf({ addresses: ['a'] }), forgotten);
      const later = { isFirst: false, startedAt: 9000, newAddresses: [], newAccounts: [] };
      expect(await record({ addresses: ['a'] })).toEqual(later);
    });

    test('is created by one of many concurrent first reports, and each name is new once', async () => {
      const given = Array.from({ length: 20 }, (_, index) => ({ addresses: [`${index % 4}`] }));
      const changes = await Promise.all(given.map(record));
      expect(changes.filter(({ isFirst }) => isFirst)).toHaveLength(1);
      const names = changes.flatMap(({ newAddresses }) => newAddresses);
      expect(names.toSorted()).toEqual(['0', '1', '2', '3']);
    });

    test('returns only new names when it has thousands', async () => {
      const addresses = Array.from({ length: 3000 }, (_, index) => `${index}`);
      expect(await record({ addresses })).toMatchObject({ newAddresses: addresses });
      const changes = await record({ addresses: [...addresses, 'new'].toReversed() });
      expect(changes).toMatchObject({ isFirst: false, newAddresses: ['new'] });
    });

    test.runIf(runs > 0)(
      'has the same changes as in memory after any sequence of calls',
      async () => {
        const property = fc.asyncProperty(anySteps, async (steps) => {
          await bounded({});
          const memory = createMemoryIncidents();
          for (const { report, isRetracted } of steps) {
            const changes = await trial.store.record(report);
            expect(changes).toEqual(await memory.record(report));
            if (!isRetracted) continue;
            await trial.store.retract(report, changes);
            await memory.retract(report, changes);
          }
        });
        await fc.assert(property, { numRuns: runs });
      },
    );
  });

  describe(`an old incident in ${title}`, () => {
    test('is forgotten with its names 30 days after its last report', async () => {
      const names = { addresses: ['a'], accounts: ['b'] };
      await record(names);
      await trial.pass(29 * DAY_MS);
      expect(await record(names)).toMatchObject({ isFirst: false, newAddresses: [] });
      await trial.pass(29 * DAY_MS);
      expect(await record()).toMatchObject({ isFirst: false });
      await trial.pass(31 * DAY_MS);
      expect(await record({ at: 5, ...names })).toEqual({
        isFirst: true,
        startedAt: 5,
        newAddresses: ['a'],
        newAccounts: ['b'],
      });
    });

    test('expires by the clock of the store, not by the times of the reports', async () => {
      await record({ at: 9_999_999_999_999 });
      expect(await record({ at: 0 })).toMatchObject({ isFirst: false });
      await trial.pass(31 * DAY_MS);
      expect(await record({ at: 0 })).toMatchObject({ isFirst: true });
    });
  });

  describe.runIf(isBounded)(`the limits of ${title}`, () => {
    test('drop the incidents that were reported longest ago when there are too many', async () => {
      await bounded({ maxIncidents: 2 });
      for (const incidentId of ['a', 'b', 'a', 'c']) {
        await record({ incidentId });
        await trial.pass(1);
      }
      expect(await record({ incidentId: 'a' })).toMatchObject({ isFirst: false });
      expect(await record({ incidentId: 'b' })).toMatchObject({ isFirst: true });
    });

    test('drop the names of other incidents first when there are too many', async () => {
      await bounded({ maxAddressesAndAccounts: 3 });
      await record({ incidentId: 'a', addresses: ['1', '2'] });
      await trial.pass(1);
      await record({ incidentId: 'b', addresses: ['1', '2'] });
      expect(await record({ incidentId: 'a' })).toMatchObject({ isFirst: true });
      await trial.pass(1);
      const many = { incidentId: 'b', addresses: ['3', '4'] };
      expect(await record(many)).toMatchObject({ isFirst: false, newAddresses: ['3', '4'] });
      // One of its own names was dropped then.
      const again = await record({ incidentId: 'b', addresses: ['4', '3', '2', '1'] });
      expect(again).toMatchObject({ isFirst: false });
      expect(again.newAddresses).toHaveLength(1);
    });

    test('do not count names that were retracted or forgotten', async () => {
      await bounded({ maxAddressesAndAccounts: 2 });
      for (let round = 0; round < 5; round += 1) {
        const given = { addresses: ['1'], accounts: ['1'] };
        await trial.store.retract(reportOf(given), await record(given));
      }
      await record({ incidentId: 'old', addresses: ['1'] });
      await trial.pass(31 * DAY_MS);
      await record({ incidentId: 'old', addresses: ['2'] });
      await record({ addresses: ['1'] });
      expect(await record({ incidentId: 'old' })).toMatchObject({ isFirst: false });
      expect(await record()).toMatchObject({ isFirst: false });
    });
  });
}
