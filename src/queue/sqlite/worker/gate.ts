import { GATE_BUSY, GATE_STOP } from '../protocol.ts';

/** Thrown instead of entering SQLite when the process ends. */
export class Stopped extends Error {}

/**
 * Marks the time inside SQLite. A process that ends while a thread is inside the native library can
 * abort, so its exit handler closes this gate and waits until the thread is outside.
 */
export class Gate {
  readonly #words: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer);
  }

  /** @throws Stopped when the gate is closed */
  run<T>(work: () => T): T {
    Atomics.store(this.#words, GATE_BUSY, 1);
    try {
      // Stored before this is read, and the exit handler does the reverse: one of them sees the other.
      if (Atomics.load(this.#words, GATE_STOP) === 1) throw new Stopped();
      return work();
    } finally {
      Atomics.store(this.#words, GATE_BUSY, 0);
      Atomics.notify(this.#words, GATE_BUSY);
    }
  }

  /** Blocks the worker's thread for `ms`, or until the gate is closed. */
  sleep(ms: number): void {
    Atomics.wait(this.#words, GATE_STOP, 0, ms);
  }
}
