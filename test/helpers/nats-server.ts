/**
 * NATS servers with JetStream, the test's own: on loopback ports, with their storage in a temporary
 * folder, gone with the test. NATS_BIN is the program, where that is not Debian's or on the path. Where
 * it is missing `natsProgram` is undefined, and what needs it is skipped loudly, or fails where
 * REQUIRE_NATS is set.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { isSound, SOUND_VERSION } from '../../src/queue/jetstream/server-version.ts';
import { freePort } from './free-port.ts';

function findProgram(): string | undefined {
  const given = process.env['NATS_BIN'];
  // Debian's stands in a folder that is on the path of root only.
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin'];
  if (given === undefined) {
    return folders.map((folder) => join(folder, 'nats-server')).find((path) => existsSync(path));
  }
  // Not another version in silence.
  if (!existsSync(given)) throw new Error(`NATS_BIN: there is no ${given}`);
  return given;
}

export const natsProgram = findProgram();

if (natsProgram === undefined) {
  const reason = 'no NATS server is installed (Debian: apt-get install nats-server)';
  if (process.env['REQUIRE_NATS'] !== undefined) throw new Error(reason);
  console.warn(`SKIPPED: tests of the JetStream queue, ${reason}`);
}

/** Such as `2.10.27`. */
const natsVersion =
  natsProgram === undefined
    ? ''
    : (/\d+(?:\.\d+)+/.exec(execFileSync(natsProgram, ['--version'], { encoding: 'utf8' }))?.[0] ??
      '');

/** Whether it keeps what it was given: in a cluster once one was killed, and alone beside what is removed. */
export const hasSoundServer = natsProgram !== undefined && isSound(natsVersion);

if (natsProgram !== undefined && !hasSoundServer) {
  const reason = `nats-server ${natsVersion} loses sight of messages, ${SOUND_VERSION} is needed (scripts/fetch-nats.sh)`;
  if (process.env['REQUIRE_NATS_CLUSTER'] !== undefined) throw new Error(reason);
  console.warn(
    `SKIPPED: the JetStream queue with processes and servers that are killed, and with much that waits or is dead, ${reason}`,
  );
}

const PORTS = { first: 4200, count: 7000 };

/** Half a minute. */
export const MAX_TRIES = 1500;

export async function differentPorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await freePort(PORTS, ports));
  return ports;
}

/** Nothing is kept open for a next time: the server may be another one by then. */
const textAt = (port: number, path: string): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const request = get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      response.on('error', reject);
    });
    request.setTimeout(2000, () => request.destroy(new Error('the server does not answer')));
    request.on('error', reject);
  });

interface Place {
  readonly name: string;
  readonly folder: string;
  readonly port: number;
  readonly monitorPort: number;
  /** Lines of its block `jetstream`, such as `sync_interval: always`, which Debian's 2.9 does not know. */
  readonly storage: string;
  /** The largest message, in bytes. */
  readonly maxPayload: number;
  /** The block `cluster` of one that is not alone. */
  readonly cluster: string;
}

const settingsOf = (place: Place): string => {
  const { name, folder, port, monitorPort, storage, cluster, maxPayload } = place;
  return `\
server_name: ${name}
host: 127.0.0.1
port: ${port}
max_payload: ${maxPayload}
http: "127.0.0.1:${monitorPort}"
jetstream {
  store_dir: "${join(folder, name)}"
  max_memory_store: 1GB
  max_file_store: 20GB
  ${storage}
}
${cluster}
`;
};

export interface NatsOptions {
  readonly storage?: string;
  /** Default 1 MiB, as the server's. */
  readonly maxPayload?: number;
}

export const DEFAULT_MAX_PAYLOAD = 1024 * 1024;

export class NatsServer {
  readonly name: string;
  /** For clients: `127.0.0.1:port`. */
  readonly address: string;
  readonly #place: Place;
  #process: ChildProcess | undefined;

  constructor(place: Place) {
    this.name = place.name;
    this.address = `127.0.0.1:${place.port}`;
    this.#place = place;
  }

  /** One that is alone, in a folder of its own. */
  static async start(options: NatsOptions = {}): Promise<NatsServer> {
    const { storage = '', maxPayload = DEFAULT_MAX_PAYLOAD } = options;
    const folder = await mkdtemp(join(tmpdir(), 'nats-'));
    const [port = 0, monitorPort = 0] = await differentPorts(2);
    const place = { name: 'alone', folder, port, monitorPort, storage, maxPayload, cluster: '' };
    const server = new NatsServer(place);
    await server.start();
    return server;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  get isRunning(): boolean {
    const server = this.#process;
    return server !== undefined && server.exitCode === null && server.signalCode === null;
  }

  /** On the storage that it had; resolves once it serves. */
  async start(): Promise<void> {
    await this.launch();
    await this.untilWell();
  }

  /** Of a cluster each waits for the others: they are launched first, all of them. */
  async launch(): Promise<void> {
    const { folder, name } = this.#place;
    const file = join(folder, `${name}.conf`);
    await mkdir(join(folder, name), { recursive: true });
    await writeFile(file, settingsOf(this.#place));
    // Ends with us, however we end.
    const args = ['--pdeathsig', 'KILL', '--', natsProgram ?? '', '-c', file];
    this.#process = spawn('setpriv', args, { stdio: 'ignore' });
  }

  /** Its storage is recovered, and of a cluster's: it has caught up with the others. */
  async untilWell(): Promise<void> {
    let last = '';
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { status, text } = await this.tell('/healthz').catch(() => ({ status: 0, text: '' }));
      if (status === 200) return;
      last = text;
      if (!this.isRunning) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const how = this.isRunning ? `is not well: ${last}` : 'has ended';
    throw new Error(`the NATS server ${this.name} did not start, it ${how}`);
  }

  /**
   * As {@link start}, and once more where it is not well by then, as whoever watches `/healthz` would do. Of some 760
   * that were killed (2.10.27) one was not: its connections to the others stood, it asked them every two seconds
   * for what it had missed, and none of them heard of that, for as long as it ran. The others needed less than 10 s.
   */
  async restart(): Promise<void> {
    try {
      await this.start();
    } catch (error) {
      console.warn(`A NATS server is started once more: ${String(error)}`);
      await this.kill();
      await this.start();
    }
  }

  /** What it tells of itself, such as `/varz` and `/jsz`. */
  tell(path: string): Promise<{ status: number; text: string }> {
    return textAt(this.#place.monitorPort, path);
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const server = this.#process;
    if (server === undefined || !this.isRunning) return;
    const over = once(server, 'exit');
    server.kill(signal);
    await over;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#place.folder, { recursive: true, force: true });
  }
}
