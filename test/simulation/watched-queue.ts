/** The queue as one process has it: it keeps the books of all that goes through. */
import type {
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  Claim,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterPage,
  DeadReason,
  EnqueueResult,
  ExpiredMessage,
  MessageQueue,
  MessageResult,
  NothingDue,
  QueueClosing,
  QueueEntry,
  QueueStats,
  SequenceRange,
} from '../../src/queue/queue.ts';
import type { Handle } from './backing.ts';
import { checkClaim, checkRelease } from './check-claim.ts';
import { checkTurn } from './check-ready.ts';
import { checkSettling } from './check-settling.ts';
import { keyOf } from './messages.ts';
import { QueueLine } from './queue-line.ts';
import type { SenderProcess } from './sender-process.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

export class WatchedQueue implements MessageQueue {
  readonly durability;
  readonly #world: World;
  readonly #process: SenderProcess;
  readonly #line: QueueLine;
  readonly #handle: Handle;
  /** Whether its process has reached the queue. */
  isOpened = false;
  #stopListening: (() => void)[] = [];

  constructor(world: World, process: SenderProcess) {
    this.#world = world;
    this.#process = process;
    this.#line = new QueueLine(world, process);
    this.#handle = world.backing.attach();
    this.durability = world.scenario.isDurable ? ('process-crash' as const) : ('memory' as const);
  }

  open(initialState: ApplicationState): Promise<Backlog> {
    return this.#line.run(async () => {
      const { book } = this.#world;
      const backlog = await this.#handle.queue.open(initialState);
      this.isOpened = true;
      this.#process.backlogMessages = book.pendingCount;
      return backlog;
    });
  }

  enqueue(entries: readonly QueueEntry[], delayMs = 0): Promise<EnqueueResult> {
    return this.#line.run(async () => {
      const { book } = this.#world;
      const { queue } = this.#handle;
      const expected = entries.map((entry) => this.#expect(entry, delayMs));
      try {
        const enqueued = await queue.enqueue(entries, delayMs);
        for (const message of expected) {
          if (!enqueued.closed.includes(message.applicationId)) book.accept(message);
        }
        return enqueued;
      } finally {
        for (const message of expected) book.forget(message);
      }
    });
  }

  #expect(entry: QueueEntry, delayMs: number): Tracked {
    const { book, now, given } = this.#world;
    const key = keyOfEntry(entry);
    const isPoison = given.get(key)?.isPoison === true;
    return book.expect(entry, { key, isPoison, acceptedBy: this.#process.key, now, delayMs });
  }

  claim(request: ClaimRequest): Promise<Claim | NothingDue> {
    return this.#line.run(async () => {
      const world = this.#world;
      world.book.wake(world.now);
      const isAlone = world.backing.alone();
      const answer = await this.#handle.queue.claim(request);
      if (!('id' in answer)) return answer;
      // Whose answer is there later: before, there was no claim.
      const ending = world.endings.get(answer.applicationId);
      if (ending !== undefined) await ending.catch(() => {});
      if (isAlone()) checkTurn(world, answer.applicationId);
      const endsAt = world.now + request.leaseMs;
      const destination = world.destination(answer.applicationId);
      const at = { heldBy: this.#process.key, claimedAt: world.now, endsAt, destination };
      const held = world.book.claim(answer, at);
      held.isUnheard = world.queueFault === 'loses-answer';
      if (!held.isUnheard) checkClaim(world, held, this.#process);
      this.#process.hasClaimed();
      return answer;
    }, UNHEARD);
  }

  settle(
    claim: Claim,
    results: readonly MessageResult[],
    state: ApplicationUpdate,
  ): Promise<'settled' | 'lost'> {
    return this.#ends(claim, async () => {
      const world = this.#world;
      world.book.wake(world.now);
      const answer = await this.#handle.queue.settle(claim, results, state);
      const held = world.book.held(claim);
      world.check(
        (held !== undefined) === (answer === 'settled'),
        'ledger',
        () =>
          `the books have the claim ${held === undefined ? 'lost' : 'live'}, the queue: ${answer}`,
      );
      if (held === undefined) return answer;
      checkSettling(world, held, { results, state });
      world.book.settle(held, results, world.now);
      const deaths = results.filter(({ kind }) => kind === 'dead');
      world.expectEvent('dead', deaths.length);
      world.book.write(claim.applicationId, state, world.now);
      return answer;
    });
  }

  release(claim: Claim, state?: ApplicationUpdate): Promise<'released' | 'lost'> {
    return this.#ends(claim, async () => {
      const world = this.#world;
      world.book.wake(world.now);
      const answer = await this.#handle.queue.release(claim, state);
      const held = world.book.held(claim);
      if (held === undefined) return answer;
      checkRelease(world, held, { state, process: this.#process });
      world.book.release(held, world.now);
      if (state !== undefined) world.book.write(claim.applicationId, state, world.now);
      return answer;
    });
  }

  /** Until it is in the books a claim that follows it waits with its own entry. */
  #ends<T>({ applicationId }: Claim, work: () => Promise<T>): Promise<T> {
    const { endings } = this.#world;
    return this.#line.run(async () => {
      const ending = work();
      endings.set(applicationId, ending);
      try {
        return await ending;
      } finally {
        if (endings.get(applicationId) === ending) endings.delete(applicationId);
      }
    }, UNHEARD);
  }

  extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    return this.#line.run(async () => {
      const { book, now } = this.#world;
      book.wake(now);
      const answer = await this.#handle.queue.extend(claim, leaseMs);
      if (answer === 'extended') book.extend(claim, now + leaseMs);
      return answer;
    });
  }

  expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    const { horizonMs } = this.#world.scenario.policy.schedule;
    return this.#ending('horizon-passed', {
      work: () => this.#handle.queue.expire(olderThanMs, maxMessages),
      isTrue: ({ acceptedAt }) => this.#world.now - acceptedAt >= horizonMs,
    });
  }

  countPending(ranges: readonly SequenceRange[]): Promise<number> {
    return this.#line.run(() => this.#handle.queue.countPending(ranges));
  }

  applicationState(applicationId: string): Promise<ApplicationState | undefined> {
    return this.#line.run(() => this.#handle.queue.applicationState(applicationId));
  }

  closeApplication(applicationId: string, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    const { book } = this.#world;
    const { queue } = this.#handle;
    // Only a receiver closes one here, by its second 410.
    const isClosed = book.application(applicationId).tier === 'closed';
    return this.#ending('destination-closed', {
      work: () => queue.closeApplication(applicationId, maxMessages),
      isTrue: () => isClosed,
    });
  }

  reopenApplication(applicationId: string): Promise<void> {
    return this.#line.run(async () => {
      const { book } = this.#world;
      // A healthy one stays as it is.
      const isHealthy = book.application(applicationId).tier === 'healthy';
      await this.#handle.queue.reopenApplication(applicationId);
      if (isHealthy) return;
      book.reopen(applicationId);
      this.#world.newDestination(applicationId);
    });
  }

  listDeadLetters(
    page: DeadLetterFilter & { readonly limit: number; readonly after?: string },
  ): Promise<DeadLetterPage> {
    return this.#line.run(() => this.#handle.queue.listDeadLetters(page));
  }

  replayDeadLetters(filter: DeadLetterFilter): Promise<number> {
    return this.#leaving(
      () => this.#handle.queue.replayDeadLetters(filter),
      (messageId) => this.#world.book.revive(messageId, this.#world.now),
    );
  }

  purgeDeadLetters(filter: DeadLetterFilter): Promise<number> {
    return this.#leaving(
      () => this.#handle.queue.purgeDeadLetters(filter),
      (messageId) => this.#world.book.discard(messageId, 'purged'),
    );
  }

  stats(): Promise<QueueStats> {
    return this.#line.run(() => this.#handle.queue.stats());
  }

  onDue(listener: () => void): () => void {
    const stop = this.#handle.queue.onDue(() => {
      if (this.#process.isAlive) listener();
    });
    this.#stopListening.push(stop);
    return stop;
  }

  /** A durable queue outlives its process; the other one hands back what waits (D79). */
  close(): Promise<QueueClosing> {
    return this.#line.run(async () => {
      const { backing, book, scenario } = this.#world;
      const { queue } = this.#handle;
      this.letGo();
      this.#line.isClosed = true;
      if (backing.rest !== undefined) return await this.#closeForGood();
      if (scenario.isDurable) return { returned: [], left: (await queue.stats()).pending };
      const closing = await queue.close();
      for (const { stored } of closing.returned) book.discard(stored.messageId, 'returned');
      return closing;
    });
  }

  async #closeForGood(): Promise<QueueClosing> {
    const { book, now } = this.#world;
    book.wake(now);
    const closing = await this.#handle.queue.close();
    book.releaseAll(this.#process.key, now);
    return closing;
  }

  /** Its process is dead. */
  drop(): void {
    this.letGo();
    this.#handle.drop();
  }

  letGo(): void {
    for (const stop of this.#stopListening) stop();
    this.#stopListening = [];
  }

  #ending(reason: DeadReason, { work, isTrue }: Ending): Promise<readonly ExpiredMessage[]> {
    return this.#line.run(async () => {
      const world = this.#world;
      const { book, now } = world;
      book.wake(now);
      const ended = await work();
      for (const { messageId } of ended) {
        const message = book.message(messageId);
        world.check(
          isTrue(message),
          'dead-reason',
          () => `${message.key} did not die of ${reason}`,
        );
        book.end(messageId, reason, now);
        world.expectEvent('dead');
        world.coverage.hit('maintenance', reason);
      }
      return ended;
    });
  }

  async #leaving(work: () => Promise<number>, leave: (messageId: string) => void): Promise<number> {
    return await this.#line.run(async () => {
      const before = await this.#deadIds();
      const count = await work();
      const after = new Set(await this.#deadIds());
      for (const messageId of before) if (!after.has(messageId)) leave(messageId);
      return count;
    });
  }

  async #deadIds(): Promise<string[]> {
    const { items } = await this.#handle.queue.listDeadLetters({ limit: 1000 });
    return items.map(({ stored }) => stored.messageId);
  }
}

interface Ending {
  readonly work: () => Promise<readonly ExpiredMessage[]>;
  readonly isTrue: (message: Tracked) => boolean;
}

/** What was enqueued must not be refused: that is the caller's to know (law 1). */
const UNHEARD = { mayBeUnheard: true };

/** Of what is stored, which is the element without the slots of format 2. */
function keyOfEntry({ stored }: QueueEntry): string {
  const { bytes, format, countAt } = stored;
  if (format === 1) return keyOf(JSON.parse(bytes.toString()) as object);
  const text = `${bytes.subarray(0, countAt).toString()}0${bytes.subarray(countAt).toString()}`;
  return keyOf(JSON.parse(text) as object);
}
