/** Calls listeners when a message may be due: after calls of this queue, notifications of others, and polls. */
import type { Client, Notification, QueryConfig } from 'pg';
import type { Clock } from '../../runtime/clock.ts';
import { untraced } from '../../runtime/untraced.ts';
import { quoted } from './schema.ts';

export interface NotifierParts {
  readonly clock: Pick<Clock, 'sleepUnref'>;
  readonly pollMs: number;
  readonly callTimeoutMs: number;
  readonly channel: string;
  /** Identifies this queue in notifications. It ignores its own. */
  readonly caller: string;
}

/** Time from the end of a connection to the next one, in milliseconds. */
const RECONNECT_MS = 1000;

/** How often to check that the server still answers, since a broken network reports nothing. In milliseconds. */
const CHECK_MS = 5000;

type Unreferenced = Client & { readonly unref?: () => void };

export class Notifier {
  readonly #parts: NotifierParts;
  readonly #listeners = new Set<() => void>();
  readonly #stop = new AbortController();
  #isStarted = false;
  /** Undefined until the queue is open. */
  #newClient: (() => Client | undefined) | undefined;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
  }

  onDue(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    this.#start();
    return () => void this.#listeners.delete(call);
  }

  /** Must be called when the queue is open. If `newClient` returns none, the notifier only polls. */
  open(newClient: () => Client | undefined): void {
    this.#newClient = newClient;
    this.#start();
  }

  /** Starts when the queue is open and has a listener: otherwise nobody needs the connection. */
  #start(): void {
    const isNeeded = this.#listeners.size > 0 && !this.#stop.signal.aborted;
    if (this.#isStarted || !isNeeded || this.#newClient === undefined) return;
    this.#isStarted = true;
    void this.#poll();
    void this.#listen(this.#newClient);
  }

  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  stop(): void {
    this.#listeners.clear();
    this.#stop.abort();
  }

  async #poll(): Promise<void> {
    const { clock, pollMs } = this.#parts;
    for (;;) {
      await clock.sleepUnref(pollMs, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      this.notify();
    }
  }

  async #listen(newClient: () => Client | undefined): Promise<void> {
    const { clock } = this.#parts;
    while (!this.#stop.signal.aborted) {
      const client = newClient();
      if (client === undefined) return;
      await this.#listenOn(client).catch(() => {});
      await clock.sleepUnref(RECONNECT_MS, this.#stop.signal);
    }
  }

  /** Resolves or rejects when the connection has ended. */
  async #listenOn(client: Unreferenced): Promise<void> {
    const { channel, caller, clock, callTimeoutMs } = this.#parts;
    const query = (text: string): Promise<unknown> =>
      client.query({ text, query_timeout: callTimeoutMs } as QueryConfig);
    const over = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, over.signal]);
    client.on('error', () => over.abort());
    client.on('end', () => over.abort());
    client.on('notification', ({ payload }: Notification) => {
      if (payload !== caller) this.notify();
    });
    try {
      // Before, in case the server does not answer; and after, since TLS uses another socket.
      client.unref?.();
      await untraced(() => client.connect());
      client.unref?.();
      await untraced(() => query(`listen ${quoted(channel)}`));
      // For messages that were enqueued before the connection listened.
      this.notify();
      for (;;) {
        await clock.sleepUnref(CHECK_MS, signal);
        if (signal.aborted) return;
        await untraced(() => query('select 1'));
      }
    } finally {
      void untraced(() => client.end()).catch(() => {});
    }
  }
}
