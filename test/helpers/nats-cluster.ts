/** Three NATS servers of a test that are a cluster. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectNats, managerOf, STAYING_STREAM } from './nats-client.ts';
import {
  DEFAULT_MAX_PAYLOAD,
  differentPorts,
  MAX_TRIES,
  type NatsOptions,
  NatsServer,
} from './nats-server.ts';

/** Ten seconds: on a busy machine they have found each other within one. */
const LEFT_OUT_TRIES = 500;

/** Half a minute at least: they tell of their room every ten seconds at the latest. */
const PLACED_TRIES = 300;

const NAMES = ['one', 'two', 'three'];

interface Meta {
  readonly cluster_size?: number;
  readonly leader?: string;
  /** Only who leads tells of them. */
  readonly replicas?: readonly {
    readonly name?: string;
    readonly current: boolean;
    readonly offline?: boolean;
  }[];
}

const metaOf = async (server: NatsServer): Promise<Meta> => {
  const { text } = await server.tell('/jsz').catch(() => ({ text: '{}' }));
  return (JSON.parse(text) as { readonly meta_cluster?: Meta }).meta_cluster ?? {};
};

/** Of those with these names the ones that nobody who leads knows of; none where nobody leads. */
export function leftOut(told: readonly Meta[], names: readonly string[]): readonly string[] {
  const leading = told.find(({ replicas }) => replicas !== undefined);
  if (leading === undefined) return [];
  const known = [leading.leader, ...(leading.replicas ?? []).map(({ name }) => name)];
  return names.filter((name) => !known.includes(name));
}

/** Whether who tells this leads so many, itself among them, and all of them go along. */
export const hasAll = ({ cluster_size, replicas = [] }: Meta, count: number): boolean =>
  cluster_size === count &&
  replicas.length === count - 1 &&
  replicas.every(({ current, offline }) => current && offline !== true);

/** Three, each on its port of loopback, so that each stream may have three replicas. */
export class NatsCluster {
  readonly servers: readonly NatsServer[];
  readonly #folder: string;

  private constructor(folder: string, servers: readonly NatsServer[]) {
    this.#folder = folder;
    this.servers = servers;
  }

  static async start(options: NatsOptions = {}): Promise<NatsCluster> {
    const { storage = '', maxPayload = DEFAULT_MAX_PAYLOAD } = options;
    const folder = await mkdtemp(join(tmpdir(), 'nats-cluster-'));
    const ports = await differentPorts(3 * NAMES.length);
    const routes = ports.slice(0, NAMES.length);
    const servers = NAMES.map((name, index) => {
      const [port = 0, monitorPort = 0] = ports.slice(NAMES.length + 2 * index);
      const block = `cluster {
  name: cluster
  listen: "127.0.0.1:${routes[index]}"
  routes: [${routes.map((route) => `"nats://127.0.0.1:${route}"`).join(', ')}]
}`;
      const place = { name, folder, port, monitorPort, storage, maxPayload, cluster: block };
      return new NatsServer(place);
    });
    const cluster = new NatsCluster(folder, servers);
    try {
      for (const server of servers) await server.launch();
      await cluster.untilWell();
      await cluster.#untilMet();
      await cluster.#untilPlaced();
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /**
   * Each is well once it knows who leads. Who leads may not have heard of all others by then, and answers that there
   * are no suitable peers (10005) to whoever wants a stream of three replicas: they tell of themselves after
   * 250 ms, 500 ms, 1 s and so on, and what was told before they had found each other is lost.
   *
   * A leader that two have elected makes their group one of two where it has not heard the third one's vote by then, and
   * that one stays outside, whatever streams are made, until it is started anew (2.10.27, by the servers' own logs):
   * so it is, loudly, as whoever runs them would have to.
   */
  async #untilMet(): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const told = await Promise.all(this.servers.map((server) => metaOf(server)));
      if (told.some((meta) => hasAll(meta, NAMES.length))) return;
      if (tries > 0 && tries % LEFT_OUT_TRIES === 0) await this.#startAnew(leftOut(told, NAMES));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error('the NATS servers of a cluster have not all found each other');
  }

  /**
   * Who leads counts a server as one that goes along by what their group tells, and places nothing on it before it has
   * heard of its room: until then it calls it offline (10005). What is seen of that is a stream of three alone.
   * It stays, see {@link STAYING_STREAM}.
   */
  async #untilPlaced(): Promise<void> {
    const client = await connectNats(this.addresses);
    try {
      const { streams } = await managerOf(client);
      for (let tries = 1; ; tries += 1) {
        try {
          await streams.add({ ...STAYING_STREAM, num_replicas: NAMES.length });
          return;
        } catch (error) {
          if (tries === PLACED_TRIES) throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    } finally {
      await client.close();
    }
  }

  async #startAnew(names: readonly string[]): Promise<void> {
    for (const name of names) {
      console.warn(`A NATS server is started once more: ${name} was left out of its cluster`);
      await this.named(name).kill();
      await this.named(name).start();
    }
  }

  /** For clients, which go to another where one is away. */
  get addresses(): string[] {
    return this.servers.map(({ address }) => address);
  }

  async untilWell(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.untilWell()));
  }

  named(name: string): NatsServer {
    const found = this.servers.find((server) => server.name === name);
    if (found === undefined) throw new Error(`no server ${name}`);
    return found;
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.kill()));
    await rm(this.#folder, { recursive: true, force: true });
  }
}
