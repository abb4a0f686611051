import { describe, expect, test } from 'vitest';
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

/** The same store, which answers when it likes. */
function asynchronous(store: IncidentStore): IncidentStore {
  return {
    record: async (given) => store.record(given),
    retract: async (given, news) => store.retract(given, news),
  };
}

describe.each([
  ['a synchronous store', createMemoryIncidents],
  ['an asynchronous store', () => asynchronous(createMemoryIncidents())],
] as const)('with %s', (_name, create) => {
  test('a failed report leaves the creation to the next', async () => {
    const reports = new IncidentReports(create());
    const firsts: boolean[] = [];
    const reportAs = (isReported: boolean) =>
      reports.report(report({ addresses: ['a'] }), ({ isFirst, newAddresses }) => {
        firsts.push(isFirst && newAddresses.length === 1);
        return isReported;
      });
    await Promise.all([reportAs(false), reportAs(false), reportAs(true), reportAs(true)]);
    expect(firsts).toEqual([true, true, true, false]);
  });

  test('one of two concurrent first messages creates, depending on the first', async () => {
    const reports = new IncidentReports(create());
    const accepts: ((isReported: boolean) => void)[] = [];
    const firsts: boolean[] = [];
    const send = () =>
      reports.reportInOrder(report({ channel: 'webhook' }), ({ isFirst }) => {
        firsts.push(isFirst);
        return new Promise((resolve) => accepts.push(resolve));
      });
    const sent = [send(), send(), send()];
    for (const isReported of [false, true, true]) {
      await expect.poll(() => accepts.length).toBeGreaterThan(0);
      expect(accepts).toHaveLength(1);
      accepts.shift()?.(isReported);
    }
    await Promise.all(sent);
    expect(firsts).toEqual([true, true, false]);
  });

  test('a late report waits for all earlier ones', async () => {
    const reports = new IncidentReports(create());
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const reportNext = (number: number) =>
      reports.reportInOrder(report(), () => {
        begun.push(number);
        return new Promise((resolve) => ends.push(() => resolve(true)));
      });
    const first = reportNext(1);
    const second = reportNext(2);
    await expect.poll(() => begun).toEqual([1]);
    ends.shift()?.();
    await first;
    const third = reportNext(3);
    await expect.poll(() => begun).toEqual([1, 2]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toEqual([1, 2]);
    ends.shift()?.();
    await second;
    await expect.poll(() => begun).toEqual([1, 2, 3]);
    ends.shift()?.();
    await third;
    // Nothing is under way any more: a report is reported at once where the store answers at once.
    await reports.report(report(), () => begun.push(4) > 0);
    expect(begun).toEqual([1, 2, 3, 4]);
  });

  test('another incident does not wait for it', async () => {
    const reports = new IncidentReports(create());
    const stuck = reports.reportInOrder(report(), () => new Promise(() => {}));
    const isFirst: boolean[] = [];
    const succeed = (news: { readonly isFirst: boolean }) => {
      isFirst.push(news.isFirst);
      return true;
    };
    await reports.report(report({ incidentId: 'incident-2' }), succeed);
    await reports.report(report({ channel: 'webhook' }), succeed);
    expect(isFirst).toEqual([true, true]);
    expect(stuck).toBeInstanceOf(Promise);
  });

  test('an error of a report creates no incident and delays no report', async () => {
    const reports = new IncidentReports(create());
    const failing = reports.reportInOrder(report(), () => Promise.reject(new Error('not sent')));
    const firsts: boolean[] = [];
    const next = reports.reportInOrder(report(), async ({ isFirst }) => firsts.push(isFirst) > 0);
    await expect(failing).rejects.toThrow('not sent');
    await next;
    expect(firsts).toEqual([true]);
  });
});

test.each([true, false])(
  'a report during another report of the same incident waits for it, which succeeds: %s',
  async (succeeds) => {
    const reports = new IncidentReports(createMemoryIncidents());
    const made: string[] = [];
    let inner: unknown;
    void reports.report(report(), ({ isFirst }) => {
      inner = reports.report(report(), (news) => made.push(`inner ${news.isFirst}`) > 0);
      made.push(`outer ${isFirst}`);
      return succeeds;
    });
    await inner;
    expect(made).toEqual(['outer true', `inner ${!succeeds}`]);
    expect(reports.report(report(), () => true)).toBeUndefined();
  },
);

describe('a store that fails', () => {
  const cause = new Error('out of order');
  const throwing = (): never => {
    throw cause;
  };
  const memory = createMemoryIncidents();
  const record = (given: IncidentReport) => memory.record(given);

  test.each([
    ['records nothing', { record: throwing, retract: throwing }],
    ['cannot retract a failed report', { record, retract: throwing }],
  ])('makes a report throw, and a later one reject: it %s', async (_name, store) => {
    const reports = new IncidentReports(store);
    expect(() => reports.report(report(), () => false)).toThrow(cause);
    await expect(reports.reportInOrder(report(), async () => false)).rejects.toThrow(cause);
    const later = new IncidentReports(asynchronous(store));
    await expect(later.report(report(), () => false)).rejects.toThrow(cause);
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

const reported = async (): Promise<boolean> => true;

describe('a store that records synchronously and retracts asynchronously', () => {
  test('makes the next report wait for the retraction', async () => {
    const { reports, ends } = retractingLater();
    const firsts: boolean[] = [];
    const reportAs = (isReported: boolean) =>
      reports.report(report(), ({ isFirst }) => {
        firsts.push(isFirst);
        return isReported;
      });
    const first = reportAs(false);
    const second = reportAs(true);
    expect(firsts).toEqual([true]);
    ends.shift()?.();
    await first;
    await second;
    expect(firsts).toEqual([true, true]);
    expect(reportAs(true)).toBeUndefined();
    expect(firsts).toEqual([true, true, false]);
  });

  test('makes a report wait for it that begins during the failing report', async () => {
    const { reports, ends } = retractingLater();
    const firsts: boolean[] = [];
    let inner: unknown;
    const first = reports.report(report(), ({ isFirst }) => {
      firsts.push(isFirst);
      inner = reports.report(report(), (news) => firsts.push(news.isFirst) > 0);
      return false;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(firsts).toEqual([true]);
    ends.shift()?.();
    await first;
    await inner;
    expect(firsts).toEqual([true, true]);
  });
});

describe('a store that does not answer', () => {
  const full = expect.objectContaining({ code: 'ERR_QUEUE_FULL' });

  test('gets at most 10,000 reports of a channel', async () => {
    let asked = 0;
    const hanging = new IncidentReports({
      record: () => {
        asked += 1;
        return new Promise(() => {});
      },
      retract: () => {},
    });
    for (let count = 0; count < MAX_IN_FLIGHT; count += 1) {
      const incident = report({ incidentId: `${count % 100}`, channel: 'webhook' });
      void hanging.reportInOrder(incident, reported);
    }
    expect(asked).toBe(100);
    const next = report({ incidentId: 'next', channel: 'webhook' });
    await expect(hanging.reportInOrder(next, reported)).rejects.toThrow(full);
    expect(() => hanging.report(next, () => true)).toThrow(full);
    expect(asked).toBe(100);
    // The other channel has its own limit.
    void hanging.report(report({ incidentId: 'next' }), () => true);
    expect(asked).toBe(101);
  });

  test('may reject a call during which the limit was reached', async () => {
    const reports: IncidentReports = new IncidentReports({
      record: async (given) => {
        if (given.incidentId !== 'last') return await new Promise(() => {});
        void reports.report(report({ incidentId: 'meanwhile' }), () => true);
        throw new Error('the store failed');
      },
      retract: () => {},
    });
    for (let count = 1; count < MAX_IN_FLIGHT; count += 1) {
      void reports.reportInOrder(report({ incidentId: `${count % 100}` }), reported);
    }
    // vitest fails if the store's rejection is unhandled.
    await expect(reports.report(report({ incidentId: 'last' }), () => true)).rejects.toThrow(full);
    await new Promise((resolve) => setImmediate(resolve));
  });

  test('frees the place of a report when it answers', async () => {
    const store = createMemoryIncidents();
    const reports = new IncidentReports(store);
    for (let count = 0; count <= MAX_IN_FLIGHT; count += 1) {
      await reports.reportInOrder(report(), reported);
    }
    expect(await store.record(report())).toMatchObject({ isFirst: false });
  });
});
