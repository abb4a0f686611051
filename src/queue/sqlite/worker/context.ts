import type { HandleSettings } from '../protocol.ts';
import type { Database } from './database.ts';
import type { Store } from './store.ts';

/** The part of a call that all operations need: the file, the time and the settings of the handle. */
export class Context {
  readonly store: Store;
  readonly database: Database;
  /** The queue's time in whole milliseconds. */
  readonly nowMs: number;
  readonly settings: HandleSettings;
  /** The call's bytes, and behind them those of the later calls of its post. */
  readonly bytes: Uint8Array;
  /** Buffers that move to the main thread with the answer. */
  readonly #transfer: ArrayBuffer[];

  constructor(
    store: Store,
    given: {
      readonly machineMs: number;
      readonly settings: HandleSettings;
      readonly bytes: Uint8Array;
      readonly transfer: ArrayBuffer[];
    },
  ) {
    this.store = store;
    this.database = store.database;
    this.nowMs = store.time(Math.floor(given.machineMs));
    this.settings = given.settings;
    this.bytes = given.bytes;
    this.#transfer = given.transfer;
  }

  /** Returns the time in `ms`, rounded up: nothing happens earlier than asked. */
  after(ms: number): number {
    return ms > 0 ? Math.ceil(Math.min(this.nowMs + ms, Number.MAX_SAFE_INTEGER)) : this.nowMs;
  }
  /** Joins bodies in a buffer that moves to the main thread: copying it slows claims down. */
  join(bodies: readonly Uint8Array[]): Uint8Array {
    const all = new Uint8Array(bodies.reduce((sum, body) => sum + body.length, 0));
    let end = 0;
    for (const body of bodies) {
      all.set(body, end);
      end += body.length;
    }
    this.#transfer.push(all.buffer);
    return all;
  }
}
