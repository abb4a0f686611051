/**
 * What is between one process and its queue: it fails when it is told to, loses answers, and brings
 * none to a process that is dead.
 */
import { SecurityEventError } from '../../src/errors.ts';
import type { SenderProcess } from './sender-process.ts';
import type { World } from './world.ts';

/** Far more than what all destinations together may need. */
const MAX_CALLS_AT_ONCE = 5000;

const failed = (): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', { detail: 'simulated' });

export class QueueLine {
  /** Nothing goes through any more: the process has closed it. */
  isClosed = false;
  readonly #world: World;
  readonly #process: SenderProcess;
  #calls = 0;
  #calledAt = 0;

  constructor(world: World, process: SenderProcess) {
    this.#world = world;
    this.#process = process;
  }

  /** The one place where a process's calls are refused, lost or made to fail. */
  async run<T>(work: () => Promise<T>, { mayBeUnheard = false } = {}): Promise<T> {
    const world = this.#world;
    const never = new Promise<never>(() => {});
    if (!this.#process.isAlive) return await never;
    if (this.#isSpinning()) return await never;
    if (this.isClosed) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    if (world.queueFault === 'rejects') throw failed();
    const answer = await this.#watched(work);
    if (mayBeUnheard && world.queueFault === 'loses-answer') throw failed();
    return this.#process.isAlive ? answer : await never;
  }

  /** The engine takes whatever is thrown for a failure of the queue: ours must be seen. */
  async #watched<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const isOfQueue = error instanceof SecurityEventError;
      this.#world.check(isOfQueue, 'ledger', () => (error as Error).stack ?? String(error));
      throw error;
    }
  }

  /** Work without end in one moment of the clock would never come back to it. */
  #isSpinning(): boolean {
    const world = this.#world;
    this.#calls = this.#calledAt === world.now ? this.#calls + 1 : 0;
    this.#calledAt = world.now;
    const isSpinning = this.#calls > MAX_CALLS_AT_ONCE;
    world.check(!isSpinning, 'no-standstill', () => 'the queue is called without end');
    return isSpinning;
  }
}
