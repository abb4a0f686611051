/** A proxy in front of a server on a Unix socket. Forwards bytes, stalls one or both directions, or cuts connections. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';

export type Direction = 'to-server' | 'to-client';

const PORT = 5432;

const socketPath = ({ host, port }: pg.ClientConfig): string => join(`${host}`, `.s.PGSQL.${port}`);

export class StallingProxy {
  readonly connection: pg.ClientConfig;
  readonly #server: Server;
  readonly #folder: string;
  readonly #pairs = new Set<Readonly<Record<Direction, Socket>>>();
  readonly #stalled = new Set<Direction>();
  #clientBytesLeft = Number.POSITIVE_INFINITY;
  #reached = (): void => {};

  private constructor(target: pg.ClientConfig) {
    this.#folder = mkdtempSync(join(tmpdir(), 'proxy-'));
    this.connection = { ...target, host: this.#folder, port: PORT };
    this.#server = createServer((client) => this.#join(client, connect(socketPath(target))));
  }

  static async start(target: pg.ClientConfig): Promise<StallingProxy> {
    const proxy = new StallingProxy(target);
    await once(proxy.#server.listen(socketPath(proxy.connection)), 'listening');
    return proxy;
  }

  #join(client: Socket, server: Socket): void {
    const pair = { 'to-server': client, 'to-client': server };
    this.#pairs.add(pair);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('error', () => {});
      from.on('data', (bytes: Buffer) => void to.write(bytes));
      // While stalled, a close is not forwarded either, as with a cut cable.
      from.on('close', () => {
        this.#pairs.delete(pair);
        if (this.#stalled.size === 0) to.destroy();
      });
    }
    server.on('data', ({ length }: Buffer) => this.#countForClient(length));
    for (const direction of this.#stalled) pair[direction].pause();
  }

  #countForClient(length: number): void {
    this.#clientBytesLeft -= length;
    if (this.#clientBytesLeft > 0) return;
    this.#clientBytesLeft = Number.POSITIVE_INFINITY;
    this.stall('to-client');
    this.#reached();
  }

  /** Stalls in the middle of a response, after `bytes` more bytes to clients. Resolves then. */
  async stallAfter(bytes: number): Promise<void> {
    this.#clientBytesLeft = bytes;
    await new Promise<void>((resolve) => {
      this.#reached = resolve;
    });
  }

  /** Stops forwarding in these directions, also on later connections. */
  stall(...directions: readonly Direction[]): void {
    for (const direction of directions) {
      this.#stalled.add(direction);
      for (const pair of this.#pairs) pair[direction].pause();
    }
  }

  resume(): void {
    const stalled = [...this.#stalled];
    this.#stalled.clear();
    for (const direction of stalled) for (const pair of this.#pairs) pair[direction].resume();
  }

  /** Forwards new connections. Stalled ones stay stalled. */
  abandon(): void {
    this.#stalled.clear();
  }

  /** Destroys all connections. New ones are accepted. */
  cut(): void {
    for (const { 'to-server': client, 'to-client': server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
    this.#pairs.clear();
  }

  async stop(): Promise<void> {
    this.#stalled.clear();
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
