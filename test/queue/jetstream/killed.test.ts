/** kill -9 of dispatchers, and of servers of a cluster: nothing that was accepted is lost, no sending is forgotten. */
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createJetStreamQueue, createJetStreamStreams } from '../../../src/queue/jetstream.ts';
import { createSeededRandom } from '../../../src/testing/index.ts';
import { connectNats, leaderOf, managerOf, type NatsClient } from '../../helpers/nats-client.ts';
import { NatsCluster } from '../../helpers/nats-cluster.ts';
import { hasSoundServer, NatsServer } from '../../helpers/nats-server.ts';
import { quickOrNightly } from '../../helpers/quick-or-nightly.ts';
import { ROW } from '../conformance/trial.ts';
import { kill, LifeJournal, startLife } from '../life-journal.ts';

/** So many processes live at the same time. */
const LIVES = 3;

const PREFIX = 'killed';

describe.runIf(hasSoundServer)('a queue in JetStream', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'jetstream-killed-'));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  const journalOf = (name: string) => new LifeJournal(join(folder, name));

  /** The n-th of the generations that live together. */
  function generation(servers: readonly string[], name: string, number: number) {
    const seeds = Array.from({ length: LIVES }, (_, index) => number * LIVES + index);
    const { file } = journalOf(name);
    return Promise.all(
      seeds.map((seed) => startLife('jetstream-life', [servers.join(), PREFIX, file, `${seed}`])),
    );
  }

  async function judge(servers: readonly string[], name: string, unseen: number): Promise<void> {
    const queue = createJetStreamQueue({ connection: { servers }, prefix: PREFIX });
    await queue.open(ROW);
    await journalOf(name).judge(queue, unseen);
    await queue.close();
  }

  test('has all that was accepted after its dispatchers were killed again and again', async () => {
    const server = await NatsServer.start();
    const servers = [server.address];
    try {
      const random = createSeededRandom(1);
      await createJetStreamStreams({ connection: { servers }, prefix: PREFIX });
      const generations = quickOrNightly(2, 17);
      for (let number = 0; number < generations; number += 1) {
        const lives = await generation(servers, 'dispatchers', number);
        await journalOf('dispatchers').busy(number + 1);
        const ends = lives.map(async (child) => {
          await new Promise((resolve) => setTimeout(resolve, 50 + random() * 300));
          await kill(child);
        });
        await Promise.all(ends);
      }
      expect(journalOf('dispatchers').told('failed')).toEqual([]);
      // Three steps of each at a time.
      await judge(servers, 'dispatchers', generations * LIVES * 3);
    } finally {
      await server.stop();
    }
  }, 300_000);

  test('has all that was accepted after servers of a cluster were killed again and again, and goes on meanwhile', async () => {
    const cluster = await NatsCluster.start();
    const servers = cluster.addresses;
    const client: NatsClient = await connectNats(servers);
    const lives: ChildProcess[] = [];
    try {
      const random = createSeededRandom(2);
      await createJetStreamStreams({ connection: { servers }, prefix: PREFIX, replicas: 3 });
      const manager = await managerOf(client);
      lives.push(...(await generation(servers, 'servers', 0)));
      const kills = quickOrNightly(2, 20);
      for (let count = 0; count < kills; count += 1) {
        await journalOf('servers').goesOn();
        await new Promise((resolve) => setTimeout(resolve, random() * 300));
        const rank = Math.floor(random() * cluster.servers.length);
        // Whoever leads what waits, every other time.
        const victim =
          count % 2 === 0
            ? cluster.named(await leaderOf(manager, `${PREFIX}-messages`))
            : cluster.servers[rank];
        await victim?.kill();
        // Without it.
        await journalOf('servers').goesOn();
        await victim?.restart();
      }
      await Promise.all(lives.map(kill));
      expect(journalOf('servers').told('sent').length).toBeGreaterThan(10 * kills);
      const failures = journalOf('servers').told('failed');
      await judge(servers, 'servers', failures.length + LIVES * 3);
    } finally {
      // Where the test has failed they live on.
      for (const child of lives) child.kill('SIGKILL');
      await client.close();
      await cluster.stop();
    }
  }, 1_200_000);
});
