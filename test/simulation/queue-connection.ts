/**
 * The connection of one process to its queue. It can fail calls and lose their results. A crashed process
 * gets no results.
 */
import { SecurityEventError } from '../../src/errors.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import type { SenderProcess } from './sender-process.ts';
import type { World } from './world.ts';

/** Far more than all destinations together need. */
const MAX_CALLS_AT_ONCE = 5000;

/** Not `enqueue`: its caller must learn whether messages were accepted (law 1). */
const CAN_LOSE_RESULT: ReadonlySet<string | symbol> = new Set(['claim', 'settle', 'release']);

const failed = (): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', { detail: 'simulated' });

export class QueueConnection {
  /** Whether the process has closed it. Calls are then rejected. */
  isClosed = false;
  readonly #world: World;
  readonly #process: SenderProcess;
  #calls = 0;
  #calledAt = 0;

  constructor(world: World, process: SenderProcess) {
    this.#world = world;
    this.#process = process;
  }

  /** Returns the queue with the methods of `watched`, called over this connection. */
  connect(queue: MessageQueue, watched: Partial<MessageQueue>): MessageQueue {
    return new Proxy(queue, {
      get: (_, name) => {
        const source = name in watched ? watched : queue;
        const value: unknown = Reflect.get(source, name, source);
        if (typeof value !== 'function' || name === 'onDue') return value;
        return (...args: readonly unknown[]) => this.#run(name, () => value.apply(source, args));
      },
    });
  }

  /** Runs a call. Rejects it, loses its result or never settles it if the world says so. */
  async #run<T>(name: string | symbol, work: () => Promise<T>): Promise<T> {
    const world = this.#world;
    const never = new Promise<never>(() => {});
    if (!this.#process.isAlive) return await never;
    if (this.#isSpinning()) return await never;
    if (this.isClosed) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    if (world.queueFault === 'rejects') throw failed();
    const answer = await this.#watched(work);
    if (CAN_LOSE_RESULT.has(name) && world.queueFault === 'loses-answer') throw failed();
    return this.#process.isAlive ? answer : await never;
  }

  /** Reports errors of the simulation itself: the engine would treat them as failures of the queue. */
  async #watched<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const isOfQueue = error instanceof SecurityEventError;
      this.#world.check(isOfQueue, 'ledger', () => (error as Error).stack ?? String(error));
      throw error;
    }
  }

  /** Detects an endless loop of calls that would never let the clock advance. */
  #isSpinning(): boolean {
    const world = this.#world;
    this.#calls = this.#calledAt === world.now ? this.#calls + 1 : 0;
    this.#calledAt = world.now;
    const isSpinning = this.#calls > MAX_CALLS_AT_ONCE;
    world.check(!isSpinning, 'progress', () => 'the queue is called in an endless loop');
    return isSpinning;
  }
}
