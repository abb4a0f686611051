/** The servers of `NATS_SERVERS`; without it, a throwaway cluster of three of the `nats-server` that is installed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { createJetStreamStreams } from 'security-event-delivery/queue/jetstream';
import { ended } from './ended.ts';
import type { Place } from './shared.ts';

const NAMES = ['one', 'two', 'three'];

// Debian's stands in a folder that is on the path of root only.
const program = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  .map((folder) => join(folder, 'nats-server'))
  .find((path) => existsSync(path));

/** Since servers that begin all at once may leave one of them out for good: docs/queues.md, "In JetStream". */
const CLUSTERS = 5;

/** `undefined` where there is neither. */
export async function openCluster(): Promise<Place | undefined> {
  const given = process.env['NATS_SERVERS'];
  if (given !== undefined) {
    await makeStreams(given);
    return { environment: { NATS_SERVERS: given }, stop: () => Promise.resolve() };
  }
  if (program === undefined) return undefined;
  for (let tries = 1; ; tries += 1) {
    const cluster = await startCluster(program);
    try {
      await makeStreams(cluster.environment.NATS_SERVERS);
      return cluster;
    } catch (error) {
      await cluster.stop();
      if (tries === CLUSTERS) throw error;
    }
  }
}

/** Ports that were free a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => net.createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

async function startCluster(path: string) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
  const ports = await freePorts(NAMES.length);
  const routes = await freePorts(NAMES.length);
  const servers = NAMES.map((name, index): ChildProcess => {
    const file = join(folder, `${name}.conf`);
    const others = routes.map((port) => `nats://127.0.0.1:${port}`);
    const settings = {
      server_name: name,
      listen: `127.0.0.1:${ports[index]}`,
      // In earnest, with a server of version 2.10 or newer: sync_interval: always
      jetstream: { store_dir: join(folder, name) },
      cluster: { name: 'fleet', listen: `127.0.0.1:${routes[index]}`, routes: others },
    };
    // JSON is read as well.
    writeFileSync(file, JSON.stringify(settings));
    return spawn('setpriv', ['--pdeathsig', 'KILL', '--', path, '-c', file], { stdio: 'ignore' });
  });
  // Rejects where there is no `setpriv`.
  await Promise.all(servers.map((server) => once(server, 'spawn'))).catch((error: unknown) => {
    rmSync(folder, { recursive: true });
    throw error;
  });
  return {
    environment: { NATS_SERVERS: ports.map((port) => `127.0.0.1:${port}`).join() },
    async stop() {
      for (const server of servers) server.kill('SIGTERM');
      await Promise.all(servers.map(ended));
      rmSync(folder, { recursive: true });
    },
  };
}

/** The streams are made once the three have found each other, which /healthz does not tell; ten processes may do so at once. */
async function makeStreams(servers: string): Promise<void> {
  const connection = { servers: servers.split(',') };
  const endsMs = performance.now() + 20_000;
  for (;;) {
    try {
      await createJetStreamStreams({ connection, replicas: NAMES.length, callTimeoutMs: 10_000 });
      return;
    } catch (error) {
      if (performance.now() > endsMs) throw error;
      await wait(100);
    }
  }
}
