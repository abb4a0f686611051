/** Tells listeners that something may be due: of what this process did, what others ring for, and now and then. */
import type { Client, Notification } from 'pg';
import type { Clock } from '../../runtime/clock.ts';
import { untraced } from '../../runtime/untraced.ts';
import { quoted } from './sql/schema-text.ts';

export interface Bell {
  readonly clock: Pick<Clock, 'idle'>;
  readonly pollMs: number;
  readonly channel: string;
  /** What this process rings with: it has been told already. */
  readonly caller: string;
}

/** Between one connection that ended or did not come and the next, in ms. */
const RECONNECT_MS = 1000;

type Unreferenced = Client & { readonly unref?: () => void };

export class Doorbell {
  readonly #bell: Bell;
  readonly #listeners = new Set<() => void>();
  readonly #stop = new AbortController();
  #isOpen = false;
  #isAttended = false;
  #newClient: (() => Client) | undefined;

  constructor(bell: Bell) {
    this.#bell = bell;
  }

  onRing(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    this.#attend();
    return () => void this.#listeners.delete(call);
  }

  /** The queue is open; without `newClient` nothing is listened for. */
  open(newClient: (() => Client) | undefined): void {
    this.#isOpen = true;
    this.#newClient = newClient;
    this.#attend();
  }

  /** A queue that nobody listens to has no connection for it. */
  #attend(): void {
    const isNeeded = this.#isOpen && this.#listeners.size > 0 && !this.#stop.signal.aborted;
    if (this.#isAttended || !isNeeded) return;
    this.#isAttended = true;
    void this.#poll();
    if (this.#newClient !== undefined) void this.#listen(this.#newClient);
  }

  ring(): void {
    for (const listener of this.#listeners) listener();
  }

  stop(): void {
    this.#listeners.clear();
    this.#stop.abort();
  }

  async #poll(): Promise<void> {
    const { clock, pollMs } = this.#bell;
    for (;;) {
      await clock.idle(pollMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      this.ring();
    }
  }

  async #listen(newClient: () => Client): Promise<void> {
    const { clock } = this.#bell;
    while (!this.#stop.signal.aborted) {
      await this.#connection(newClient).catch(() => {});
      await clock.idle(RECONNECT_MS, this.#stop.signal);
    }
  }

  /** Resolves when the connection is over. */
  async #connection(newClient: () => Client): Promise<void> {
    const { channel, caller } = this.#bell;
    const client: Unreferenced = newClient();
    const stop = (): void => void client.end().catch(() => {});
    const ended = new Promise<void>((resolve) => {
      client.on('error', () => resolve());
      client.on('end', () => resolve());
    });
    client.on('notification', ({ payload }: Notification) => {
      if (payload !== caller) this.ring();
    });
    try {
      // Before, for a server that does not answer, and after, since TLS has another socket.
      client.unref?.();
      await untraced(() => client.connect());
      client.unref?.();
      await untraced(() => client.query(`listen ${quoted(channel)}`));
      this.#stop.signal.addEventListener('abort', stop);
      // Of what was rung for before nothing was heard.
      this.ring();
      if (!this.#stop.signal.aborted) await ended;
    } finally {
      this.#stop.signal.removeEventListener('abort', stop);
      stop();
    }
  }
}
