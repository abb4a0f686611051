import { describe, expect, onTestFinished, test } from 'vitest';
import type { IncidentReport, IncidentStore } from '../../src/incident/incident-store.ts';
import { createMemoryIncidents } from '../../src/incident/memory-incidents.ts';
import { MAX_IN_FLIGHT } from '../../src/reporter/in-flight-limit.ts';
import { IncidentReports } from '../../src/reporter/incident-reports.ts';

const report = (given: Partial<IncidentReport> = {}): IncidentReport => ({
  applicationId: 'shop-1',
  incidentId: 'incident-1',
  channel: 'log',
  at: 1000,
  addresses: [],
  accounts: [],
  ...given,
});

function notSent(): never {
  throw new Error('not sent');
}

/** The same store, which answers when it likes. */
function asynchronous(store: IncidentStore): IncidentStore {
  return {
    record: async (given) => store.record(given),
    retract: async (given, news) => store.retract(given, news),
  };
}

describe.each([
  ['a store that answers at once', createMemoryIncidents],
  ['a store of promises', () => asynchronous(createMemoryIncidents())],
] as const)('with %s', (_name, create) => {
  test('the first report creates, and the next ones update, in their order', async () => {
    const reports = new IncidentReports(create());
    const reported: [number, boolean][] = [];
    const tell = async (number: number) =>
      reports.run(report(), ({ isFirst }) => {
        reported.push([number, isFirst]);
        return true;
      });
    await Promise.all([tell(1), tell(2), tell(3)]);
    expect(reported).toEqual([
      [1, true],
      [2, false],
      [3, false],
    ]);
  });

  test('a report that was not made leaves the creation to the next', async () => {
    const reports = new IncidentReports(create());
    const firsts: boolean[] = [];
    const tellAs = (isTold: boolean) =>
      reports.run(report({ addresses: ['a'] }), ({ isFirst, newAddresses }) => {
        firsts.push(isFirst && newAddresses.length === 1);
        return isTold;
      });
    await Promise.all([tellAs(false), tellAs(false), tellAs(true), tellAs(true)]);
    expect(firsts).toEqual([true, true, true, false]);
  });

  test('of two first messages on their way one creates, and which one hangs on the first', async () => {
    const reports = new IncidentReports(create());
    const accepts: ((isTold: boolean) => void)[] = [];
    const firsts: boolean[] = [];
    const send = () =>
      reports.runInOrder(report({ channel: 'webhook' }), ({ isFirst }) => {
        firsts.push(isFirst);
        return new Promise((resolve) => accepts.push(resolve));
      });
    const sent = [send(), send(), send()];
    for (const isTold of [false, true, true]) {
      await expect.poll(() => accepts.length).toBeGreaterThan(0);
      expect(accepts).toHaveLength(1);
      accepts.shift()?.(isTold);
    }
    await Promise.all(sent);
    expect(firsts).toEqual([true, true, false]);
  });

  test('who comes late waits for all before it', async () => {
    const reports = new IncidentReports(create());
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const tellNext = (number: number) =>
      reports.runInOrder(report(), () => {
        begun.push(number);
        return new Promise((resolve) => ends.push(() => resolve(true)));
      });
    const first = tellNext(1);
    const second = tellNext(2);
    await expect.poll(() => begun).toEqual([1]);
    ends.shift()?.();
    await first;
    const third = tellNext(3);
    await expect.poll(() => begun).toEqual([1, 2]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toEqual([1, 2]);
    ends.shift()?.();
    await second;
    await expect.poll(() => begun).toEqual([1, 2, 3]);
    ends.shift()?.();
    await third;
    // Nothing is under way any more: a report is reported at once where the store answers at once.
    await reports.run(report(), () => begun.push(4) > 0);
    expect(begun).toEqual([1, 2, 3, 4]);
  });

  test('another incident does not wait for it', async () => {
    const reports = new IncidentReports(create());
    const stuck = reports.runInOrder(report(), () => new Promise(() => {}));
    const isFirst: boolean[] = [];
    const tell = (news: { readonly isFirst: boolean }) => {
      isFirst.push(news.isFirst);
      return true;
    };
    await reports.run(report({ incidentId: 'incident-2' }), tell);
    await reports.run(report({ channel: 'webhook' }), tell);
    expect(isFirst).toEqual([true, true]);
    expect(stuck).toBeInstanceOf(Promise);
  });

  test('what throws while it is told is thrown, creates nothing and holds up nothing', async () => {
    const reports = new IncidentReports(create());
    const failing = reports.runInOrder(report(), async () => notSent());
    const next = reports.runInOrder(report(), async ({ isFirst }) => isFirst);
    await expect(failing).rejects.toThrow('not sent');
    await expect(next).resolves.toBeUndefined();

    const other = report({ incidentId: 'incident-2' });
    await expect((async () => reports.run(other, notSent))()).rejects.toThrow('not sent');
    const firsts: boolean[] = [];
    await reports.run(other, ({ isFirst }) => firsts.push(isFirst) > 0);
    expect(firsts).toEqual([true]);
  });
});

describe('a store that answers at once', () => {
  test('has the incident told before the call is over', () => {
    const reports = new IncidentReports(createMemoryIncidents());
    let isTold = false;
    const answer = reports.run(report(), () => {
      isTold = true;
      return true;
    });
    expect([isTold, answer]).toEqual([true, undefined]);
  });
});

describe('a store that fails', () => {
  const cause = new Error('out of order');
  const message = expect.stringContaining('the store of incidents');
  const failed = expect.objectContaining({ code: 'ERR_QUEUE_FAILED', cause, message });
  const throwing = (): never => {
    throw cause;
  };

  test('throws, where it answers at once', () => {
    const reports = new IncidentReports({ record: throwing, retract: throwing });
    expect(() => reports.run(report(), () => true)).toThrow(failed);
  });

  test('rejects, where it is asked in order or later', async () => {
    const reports = new IncidentReports({ record: throwing, retract: throwing });
    await expect(reports.runInOrder(report(), async () => true)).rejects.toThrow(failed);
    const later = new IncidentReports({ record: async () => throwing(), retract: throwing });
    await expect(later.run(report(), () => true)).rejects.toThrow(failed);
  });

  test('fails when it cannot undo a report that was not made', async () => {
    const store = createMemoryIncidents();
    const broken = { record: (given: IncidentReport) => store.record(given), retract: throwing };
    expect(() => new IncidentReports(broken).run(report(), () => false)).toThrow(failed);
    await expect(
      new IncidentReports(broken).runInOrder(report(), async () => false),
    ).rejects.toThrow(failed);
  });
});

function retractingLater() {
  const store = createMemoryIncidents();
  const ends: (() => void)[] = [];
  const reports = new IncidentReports({
    record: (given) => store.record(given),
    retract: (given, news) =>
      new Promise((resolve) => {
        ends.push(() => {
          void store.retract(given, news);
          resolve();
        });
      }),
  });
  return { reports, ends };
}

async function outOfOrder(): Promise<never> {
  throw new Error('out of order');
}

const reported = async (): Promise<boolean> => true;

describe('a store that answers at once and takes back later', () => {
  test('has the next report wait until it was taken back', async () => {
    const { reports, ends } = retractingLater();
    const firsts: boolean[] = [];
    const tell = (isTold: boolean) =>
      reports.run(report(), ({ isFirst }) => {
        firsts.push(isFirst);
        return isTold;
      });
    const first = tell(false);
    const second = tell(true);
    expect(firsts).toEqual([true]);
    ends.shift()?.();
    await first;
    await second;
    expect(firsts).toEqual([true, true]);
    expect(tell(true)).toBeUndefined();
    expect(firsts).toEqual([true, true, false]);
  });

  test('leaves no rejection behind where telling threw', async () => {
    const unhandled: unknown[] = [];
    const listener = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', listener);
    onTestFinished(() => void process.off('unhandledRejection', listener));
    const store = createMemoryIncidents();
    const reports = new IncidentReports({
      record: (given) => store.record(given),
      retract: outOfOrder,
    });
    expect(() => reports.run(report(), notSent)).toThrow('not sent');
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  });
});

describe('a store that does not answer', () => {
  const full = expect.objectContaining({ code: 'ERR_QUEUE_FULL' });

  test('is asked for so many reports of a channel, and no more', async () => {
    let asked = 0;
    const hanging = new IncidentReports({
      record: () => {
        asked += 1;
        return new Promise(() => {});
      },
      retract: () => {},
    });
    for (let count = 0; count < MAX_IN_FLIGHT; count += 1) {
      void hanging.runInOrder(
        report({ incidentId: `${count % 100}`, channel: 'webhook' }),
        reported,
      );
    }
    expect(asked).toBe(100);
    const next = report({ incidentId: 'next', channel: 'webhook' });
    await expect(hanging.runInOrder(next, reported)).rejects.toThrow(full);
    expect(() => hanging.run(next, () => true)).toThrow(full);
    expect(asked).toBe(100);
    // The other channel has room of its own.
    void hanging.run(report({ incidentId: 'next' }), () => true);
    expect(asked).toBe(101);
  });

  test('has room again for what it answers', async () => {
    const store = createMemoryIncidents();
    const reports = new IncidentReports(store);
    for (let count = 0; count <= MAX_IN_FLIGHT; count += 1) {
      await reports.runInOrder(report(), reported);
    }
    expect(await store.record(report())).toMatchObject({ isFirst: false });
  });
});
