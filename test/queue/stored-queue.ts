/**
 * A queue whose content outlives its handles and is shared by them, for the cases of the conformance
 * suite that a memory queue cannot run. Its storage is the list of calls that changed it: a handle
 * that comes after a crash goes through them again.
 */

import { SecurityEventError } from '../../src/errors.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type {
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  Claim,
  ClaimRequest,
  MessageQueue,
  NothingDue,
  QueueClosing,
} from '../../src/queue/queue.ts';
import type { FakeClock } from '../../src/testing/index.ts';
import type { QueueBounds } from './conformance/harness.ts';

type Change = (queue: MessageQueue) => Promise<unknown>;

interface Entry {
  readonly change: Change;
  readonly now: number;
  readonly monotonicMs: number;
}

/** What is left when every handle is gone. */
export class Storage {
  readonly #clock: FakeClock;
  readonly #bounds: QueueBounds | undefined;
  readonly #log: Entry[] = [];
  #replayed: Entry | undefined;
  queue: MessageQueue;

  constructor(clock: FakeClock, bounds?: QueueBounds) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.queue = this.#empty();
  }

  #empty(): MessageQueue {
    return createMemoryQueue(this.#bounds, {
      now: () => this.#replayed?.now ?? this.#clock.now(),
      monotonicMs: () => this.#replayed?.monotonicMs ?? this.#clock.monotonicMs(),
    });
  }

  change<T>(change: (queue: MessageQueue) => Promise<T>): Promise<T> {
    const now = this.#clock.now();
    this.#log.push({ change, now, monotonicMs: this.#clock.monotonicMs() });
    return change(this.queue);
  }

  async recover(): Promise<void> {
    this.queue = this.#empty();
    for (const entry of this.#log) {
      this.#replayed = entry;
      // What was refused then is refused again.
      await entry.change(this.queue).catch(() => {});
    }
    this.#replayed = undefined;
  }
}

/** One of the handles of a storage. */
export class StoredQueue implements MessageQueue {
  readonly durability = 'process-crash';
  readonly #storage: Storage;
  readonly #claims = new Map<string, Claim>();
  readonly #stopListening = new Set<() => void>();
  #isClosed = false;
  #closing: Promise<QueueClosing> | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  #change<T>(change: (queue: MessageQueue) => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new SecurityEventError('ERR_QUEUE_CLOSED'));
    return this.#storage.change(change);
  }

  #read<T>(read: (queue: MessageQueue) => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(new SecurityEventError('ERR_QUEUE_CLOSED'));
    return read(this.#storage.queue);
  }

  open(initialState: ApplicationState): Promise<Backlog> {
    return this.#change((queue) => queue.open(initialState));
  }

  enqueue(...given: Parameters<MessageQueue['enqueue']>) {
    return this.#change((queue) => queue.enqueue(...given));
  }

  async claim(request: ClaimRequest): Promise<Claim | NothingDue> {
    const claimed = await this.#change((queue) => queue.claim(request));
    if ('messages' in claimed) this.#claims.set(claimed.id, claimed);
    return claimed;
  }

  settle(...[claim, results, state]: Parameters<MessageQueue['settle']>) {
    return this.#change((queue) => queue.settle(claim, results, state));
  }

  release(claim: Claim, state?: ApplicationUpdate) {
    return this.#change((queue) => queue.release(claim, state));
  }

  extend(claim: Claim, leaseMs: number) {
    return this.#change((queue) => queue.extend(claim, leaseMs));
  }

  expire(olderThanMs: number, maxMessages: number) {
    return this.#change((queue) => queue.expire(olderThanMs, maxMessages));
  }

  countPending(ranges: Parameters<MessageQueue['countPending']>[0]) {
    return this.#read((queue) => queue.countPending(ranges));
  }

  applicationState(applicationId: string) {
    return this.#read((queue) => queue.applicationState(applicationId));
  }

  closeApplication(applicationId: string, maxMessages: number) {
    return this.#change((queue) => queue.closeApplication(applicationId, maxMessages));
  }

  reopenApplication(applicationId: string) {
    return this.#change((queue) => queue.reopenApplication(applicationId));
  }

  listDeadLetters(page: Parameters<MessageQueue['listDeadLetters']>[0]) {
    return this.#read((queue) => queue.listDeadLetters(page));
  }

  replayDeadLetters(filter: Parameters<MessageQueue['replayDeadLetters']>[0]) {
    return this.#change((queue) => queue.replayDeadLetters(filter));
  }

  purgeDeadLetters(filter: Parameters<MessageQueue['purgeDeadLetters']>[0]) {
    return this.#change((queue) => queue.purgeDeadLetters(filter));
  }

  stats() {
    return this.#storage.queue.stats();
  }

  onDue(listener: () => void): () => void {
    const takeOff = this.#storage.queue.onDue(listener);
    this.#stopListening.add(takeOff);
    return takeOff;
  }

  close(): Promise<QueueClosing> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<QueueClosing> {
    const releases = [...this.#claims.values()].map((claim) => this.release(claim));
    this.#isClosed = true;
    await Promise.all(releases);
    for (const takeOff of this.#stopListening) takeOff();
    return { returned: [], left: (await this.stats()).pending };
  }
}
