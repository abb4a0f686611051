/** Incidents in the folder of a queue: what survives, what it costs, and who may ask when. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { AdaptedLevelQueue } from '../../../src/queue/level/adapted-level-queue.ts';
import { INCIDENT_LIMITS } from '../../../src/queue/level/incident-rows.ts';
import { LevelQueue } from '../../../src/queue/level/level-queue.ts';
import { unsealed } from '../../../src/queue/level/seal.ts';
import { createReporter } from '../../../src/reporter/create-reporter.ts';
import { createFakeClock, type FakeClock } from '../../../src/testing/index.ts';
import { copyAsKilled } from '../../helpers/copy-as-killed.ts';
import { openReceiver } from '../../helpers/sender.ts';
import { DAY_MS, describeIncidentStore, reportOf } from '../../incident/describe-incident-store.ts';
import { tables } from './drain.ts';
import { createLevelQueue, ROW } from './old-trial.ts';

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'level-incidents-'));

/** What is read of the folder, and whether it takes what is written. */
class Counted extends ClassicLevel<Buffer, Buffer> {
  static reads = 0;
  static isFull = false;

  constructor(...args: ConstructorParameters<typeof ClassicLevel<Buffer, Buffer>>) {
    super(...args);
    const own = { get: this.get.bind(this), iterator: this.iterator.bind(this) } as const;
    for (const [name, read] of Object.entries(own)) {
      const counted = (...all: unknown[]): unknown => {
        Counted.reads += 1;
        return (read as (...given: unknown[]) => unknown)(...all);
      };
      Object.assign(this, { [name]: counted });
    }
  }
}

interface Opening {
  readonly folder: string;
  readonly clock: FakeClock;
  readonly limits?: Partial<typeof INCIDENT_LIMITS>;
}

const queueIn = ({ folder, clock, limits = {} }: Opening): LevelQueue =>
  new LevelQueue(
    { folder, sync: false, maxPendingBytes: 1e9, maxPendingMessages: 1e6, maxDeadBytes: 1e9 },
    clock,
    {
      load: () => Promise.resolve({ ClassicLevel: Counted }),
      onWrite: (moment) => {
        if (moment === 'before' && Counted.isFull) throw new Error('ENOSPC');
      },
      incidentLimits: { ...INCIDENT_LIMITS, ...limits },
    },
  );

describeIncidentStore(
  'a folder',
  {
    create: (limits = {}) => {
      const [folder, clock] = [newFolder(), createFakeClock()];
      const queue = queueIn({ folder, clock, limits });
      return Promise.resolve({
        store: queue.incidents,
        pass: (ms) => clock.advance(ms),
        dispose: async () => {
          await queue.close();
          rmSync(folder, { recursive: true });
        },
      });
    },
    isBounded: true,
  },
  30,
);

describe('what was told of incidents', () => {
  let parent = '';
  let folder = '';
  let clock = createFakeClock();

  beforeEach(() => {
    parent = newFolder();
    folder = join(parent, 'live');
    clock = createFakeClock();
    Counted.isFull = false;
  });
  afterEach(() => rmSync(parent, { recursive: true }));

  const names = { addresses: ['a'], accounts: ['b'] };
  const nothingNew = { isFirst: false, startedAt: 1000, newAddresses: [], newAccounts: [] };

  test('is known after a crash, after a closing, and where the clock went back meanwhile', async () => {
    const queue = queueIn({ folder, clock });
    await queue.incidents.tell(reportOf(names));
    const crashed = join(parent, 'crashed');
    copyAsKilled(folder, crashed);
    await queue.close();
    for (const place of [folder, crashed]) {
      const next = queueIn({ folder: place, clock: createFakeClock() });
      expect(await next.incidents.tell(reportOf(names))).toEqual(nothingNew);
      await next.close();
    }
  });

  test('was not told where it could not be written, and all is as it was before', async () => {
    const queue = queueIn({ folder, clock });
    await queue.incidents.tell(reportOf());
    Counted.isFull = true;
    const failed = { code: 'ERR_QUEUE_FAILED' };
    await expect(queue.incidents.tell(reportOf(names))).rejects.toMatchObject(failed);
    await expect(queue.incidents.tell(reportOf({ incidentId: 'other' }))).rejects.toMatchObject(
      failed,
    );
    Counted.isFull = false;
    expect(await queue.incidents.tell(reportOf(names))).toMatchObject({
      isFirst: false,
      newAddresses: ['a'],
    });
    expect(await queue.incidents.tell(reportOf({ incidentId: 'other' }))).toMatchObject({
      isFirst: true,
    });
    await queue.close();
  });

  test('can be asked for without a sender, and before one opens the queue', async () => {
    const queue = queueIn({ folder, clock });
    await queue.incidents.tell(reportOf(names));
    await expect(queue.stats()).rejects.toMatchObject({ code: 'ERR_QUEUE_CLOSED' });
    await queue.open(ROW, 5);
    expect(await queue.stats()).toMatchObject({ pending: 0 });
    expect(await queue.incidents.tell(reportOf(names))).toEqual(nothingNew);
    await queue.close();
    for (const call of [
      () => queue.incidents.tell(reportOf()),
      () => queue.incidents.retract(reportOf(), nothingNew),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'ERR_QUEUE_CLOSED' });
    }
  });

  test('is not to be had where another process has the folder', async () => {
    const first = createLevelQueue({ folder });
    await first.incidents.tell(reportOf());
    const second = createLevelQueue({ folder });
    await expect(second.incidents.tell(reportOf())).rejects.toMatchObject({
      code: 'ERR_QUEUE_LOCKED',
    });
    await first.close();
    expect(await second.incidents.tell(reportOf())).toMatchObject({ isFirst: false });
    await second.close();
  });

  test('costs a report as much to read, however much there is', async () => {
    const queue = queueIn({ folder, clock });
    const told = async (incidentId: string): Promise<number> => {
      const before = Counted.reads;
      await queue.incidents.tell(reportOf({ incidentId, addresses: [incidentId] }));
      return Counted.reads - before;
    };
    await told('first');
    const few = await told('second');
    for (let number = 0; number < 300; number += 1) await told(`${number}`);
    expect(await told('last')).toBe(few);
    expect(await told('last')).toBe(few);
    await queue.close();
  });

  test('goes from the folder in parts: of what is old some with each report', async () => {
    const queue = queueIn({ folder, clock });
    const addresses = Array.from({ length: 4000 }, (_, index) => `${index}`);
    await queue.incidents.tell(reportOf({ addresses }));
    for (let number = 0; number < 20; number += 1) {
      await queue.incidents.tell(reportOf({ incidentId: `${number}`, addresses: ['a'] }));
    }
    await clock.advance(31 * DAY_MS);
    await queue.incidents.tell(reportOf({ incidentId: 'new' }));
    const crashed = join(parent, 'crashed');
    copyAsKilled(folder, crashed);
    const { k: left = 0 } = await tables(crashed);
    expect(left).toBeGreaterThan(20);
    expect(left).toBeLessThan(4020);
    for (let time = 0; time < 5; time += 1) {
      await queue.incidents.tell(reportOf({ incidentId: 'new' }));
    }
    await queue.close();
    const { M: _, ...rows } = await tables(folder);
    expect(rows).toEqual({ I: 1, i: 1, j: 1 });
  });

  test.each([50, 1])(
    'is within its limits again where %i incidents are told of, and names, that are not there',
    async (incidents) => {
      const limits = { maxIncidents: 2, maxNames: 3 };
      const queue = queueIn({ folder, clock, limits });
      await queue.incidents.tell(reportOf(names));
      await queue.close();
      const level = new ClassicLevel(folder);
      await level.put('I', JSON.stringify({ lastNumber: 1, incidents, names: 50 }));
      await level.close();
      const next = queueIn({ folder, clock, limits });
      await next.incidents.tell(reportOf());
      for (const incidentId of ['a', 'b']) {
        await next.incidents.tell(reportOf({ incidentId, ...names }));
        await clock.advance(1);
      }
      expect(await next.incidents.tell(reportOf({ incidentId: 'b' }))).toMatchObject({
        isFirst: false,
      });
      await next.close();
    },
  );

  test('keeps to its limits, whoever tells at once', async () => {
    const queue = queueIn({ folder, clock, limits: { maxIncidents: 5, maxNames: 20 } });
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          queue.incidents.tell(
            reportOf({ incidentId: `${index % 9}`, addresses: [`${round} ${index}`] }),
          ),
        ),
      );
      await clock.advance(1);
    }
    await queue.incidents.tell(reportOf());
    await queue.close();
    const { i = 0, j = 0, k = 0 } = await tables(folder);
    const level = new ClassicLevel<Buffer, Buffer>(folder, {
      keyEncoding: 'buffer',
      valueEncoding: 'buffer',
    });
    const key = Buffer.from('I');
    const row = await level.get(key);
    const amounts: unknown = JSON.parse(String(row && unsealed(key, row)));
    await level.close();
    expect(amounts).toMatchObject({ incidents: j, names: k });
    expect(i).toBeLessThanOrEqual(5);
    expect(k).toBeLessThanOrEqual(20);
  });

  test('is told once by reporters one after the other, beside the queue of their sender', async () => {
    const receiver = await openReceiver();
    const incident = {
      incident_id: 'i-1',
      incident_type: 'sql_injection',
      name: 'SQL injection',
      severity: 'major',
    } as const;
    const statuses: unknown[] = [];
    for (let life = 0; life < 2; life += 1) {
      const queue = new AdaptedLevelQueue(createLevelQueue({ folder, sync: false }));
      const lines: string[] = [];
      const reporter = createReporter({
        service: { svc_id: 'shop-1', name: 'shop', env: 'production' },
        log: { destination: { write: (line: string) => void lines.push(line) } },
        webhook: { url: receiver.url, secret: 'secret', network: 'allow-private', queue },
        incidents: queue.incidents,
      });
      const { settled } = reporter.incident(incident);
      expect(await settled).toEqual({ outcome: 'delivered' });
      await reporter.flush();
      await reporter.close();
      statuses.push(...lines.map((line) => JSON.parse(line).payload.event_type));
    }
    expect(statuses).toEqual(['create', 'update']);
  });
});
