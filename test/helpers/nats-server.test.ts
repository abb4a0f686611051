/** Whether the servers of the tests are what those rely on. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectNats, managerOf, type NatsManager } from './nats-client.ts';
import { hasAll, leftOut, NatsCluster } from './nats-cluster.ts';
import { NatsServer, natsProgram } from './nats-server.ts';

async function client(servers: readonly string[]): Promise<NatsManager> {
  const connected = await connectNats(servers);
  onTestFinished(() => connected.close());
  return await managerOf(connected);
}

const replicaOf = (name: string) => ({ name, current: true });

describe('who leads a cluster', () => {
  const current = { current: true };

  test.each([
    [{ cluster_size: 3, replicas: [current, current] }, true],
    [{ cluster_size: 3, replicas: [current, { current: true, offline: true }] }, false],
    [{ cluster_size: 3, replicas: [current, { current: false }] }, false],
    [{ cluster_size: 3, replicas: [current] }, false],
    [{ cluster_size: 2, replicas: [current] }, false],
    [{ cluster_size: 3 }, false],
    [{}, false],
  ])('that tells %j has all three: %s', (meta, expected) => {
    expect(hasAll(meta, 3)).toBe(expected);
  });

  const follower = { leader: 'one', cluster_size: 2 };

  test.each([
    [[follower, follower, { ...follower, replicas: [replicaOf('two')] }], ['three']],
    [[{ leader: 'one', replicas: [replicaOf('three'), replicaOf('two')] }], []],
    [[follower, follower], []],
    [[{}], []],
  ])('leaves out, where they tell %j: %j', (told, expected) => {
    expect(leftOut(told, ['one', 'two', 'three'])).toEqual(expected);
  });
});

describe.runIf(natsProgram !== undefined)('a NATS server of a test', () => {
  test('has what it had when it was killed', async () => {
    const server = await NatsServer.start();
    onTestFinished(() => server.stop());
    const manager = await client([server.address]);
    await manager.streams.add({ name: 'kept', subjects: ['kept.>'] });
    await manager.jetstream().publish('kept.a', 'one');
    await server.kill();
    expect(server.isRunning).toBe(false);
    await server.start();
    const again = await client([server.address]);
    expect((await again.streams.info('kept')).state.messages).toBe(1);
  });

  test('of a cluster may be killed, the leader too, and what was acknowledged is there', async () => {
    const cluster = await NatsCluster.start();
    onTestFinished(() => cluster.stop());
    const manager = await client(cluster.addresses);
    await manager.streams.add({ name: 'kept', subjects: ['kept.>'], num_replicas: 3 });
    await manager.jetstream().publish('kept.a', 'one');
    const leader = (await manager.streams.info('kept')).cluster?.leader ?? '';
    await cluster.named(leader).kill();
    const others = cluster.servers.filter((server) => server.isRunning);
    expect(others).toHaveLength(2);
    const left = await client(others.map(({ address }) => address));
    await expect
      .poll(() => left.streams.info('kept').catch(() => undefined), { timeout: 20_000 })
      .toMatchObject({ state: { messages: 1 } });
    await cluster.named(leader).start();
    await expect
      .poll(
        async () => (await left.streams.info('kept').catch(() => undefined))?.cluster?.replicas,
        { timeout: 20_000 },
      )
      .toMatchObject([{ current: true }, { current: true }]);
  }, 90_000);
});
