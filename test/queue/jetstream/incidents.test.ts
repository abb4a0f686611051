/** The incidents that processes share through a cluster are told as those in the memory of one. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { IncidentStore } from '../../../src/incident/incident-store.ts';
import { JetStreamQueue } from '../../../src/queue/jetstream/jetstream-queue.ts';
import { createJetStreamStreams } from '../../../src/queue/jetstream.ts';
import { NatsServer, natsProgram } from '../../helpers/nats-server.ts';
import { SteppingTime } from '../../helpers/stepping-time.ts';
import { DAY_MS, describeIncidentStore, reportOf } from '../../incident/describe-incident-store.ts';

describe.runIf(natsProgram !== undefined)('incidents in JetStream', () => {
  let server: NatsServer;
  let queue: JetStreamQueue;
  let others: JetStreamQueue[];
  let made = 0;
  const time = new SteppingTime();

  beforeAll(async () => {
    server = await NatsServer.start();
    const connection = { servers: server.address };
    await createJetStreamStreams({ connection });
    others = [0, 1].map(() => new JetStreamQueue({ connection }, { time }));
    queue = new JetStreamQueue({ connection }, { time });
  });

  afterAll(async () => {
    await Promise.all([queue, ...others].map((one) => one.close()));
    await server.stop();
  });

  describeIncidentStore(
    'JetStream',
    {
      create: () => {
        made += 1;
        const own = `${made}`;
        const { incidents } = queue;
        // Each store is empty: its incidents are of applications of its own.
        const store: IncidentStore = {
          tell: (report) => incidents.tell(named(report, own)),
          retract: (report, news) => incidents.retract(named(report, own), news),
        };
        return Promise.resolve({
          store,
          pass: (ms) => time.advance(ms),
          dispose: () => Promise.resolve(),
        });
      },
      isBounded: false,
    },
    10,
  );

  test('are created once, and each name is new once, whichever process tells', async () => {
    const tellers = [queue, ...others];
    const news = await Promise.all(
      Array.from({ length: 12 }, (_, index) => {
        const { incidents } = tellers[index % tellers.length] as JetStreamQueue;
        return incidents.tell(reportOf({ incidentId: 'shared', addresses: [`${index % 4}`] }));
      }),
    );
    expect(news.filter(({ isFirst }) => isFirst)).toHaveLength(1);
    const names = news.flatMap(({ newAddresses }) => newAddresses);
    expect(names.toSorted()).toEqual(['0', '1', '2', '3']);
  });

  test('with more names than a value may hold tell the oldest again, and go on', async () => {
    const addresses = Array.from({ length: 16_000 }, (_, index) => `a-${index}`);
    const given = { incidentId: 'large', addresses };
    expect((await queue.incidents.tell(reportOf(given))).newAddresses).toHaveLength(16_000);
    const again = { incidentId: 'large', addresses: ['a-15999', 'a-0'] };
    expect(await queue.incidents.tell(reportOf(again))).toMatchObject({
      isFirst: false,
      newAddresses: ['a-0'],
    });
  });

  test('that nobody told of for 30 days are over, though the server has them still', async () => {
    const given = { incidentId: 'old', accounts: ['x'] };
    await queue.incidents.tell(reportOf(given));
    await time.advance(31 * DAY_MS);
    expect(await others[0]?.incidents.tell(reportOf({ ...given, at: 7 }))).toMatchObject({
      isFirst: true,
      startedAt: 7,
      newAccounts: ['x'],
    });
  });
});

const named = <R extends { readonly applicationId: string }>(report: R, own: string): R => ({
  ...report,
  applicationId: `${own}\n${report.applicationId}`,
});
