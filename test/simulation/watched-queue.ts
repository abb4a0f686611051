/** The queue of one process. Updates the expected state with each call and checks the results. */
import type {
  Claim,
  DeadLetteredMessage,
  DeadReason,
  MessageQueue,
  QueueClosing,
  QueueEntry,
} from '../../src/queue/queue.ts';
import { checkClaim, checkRelease } from './check-claim.ts';
import { checkTurn } from './check-ready.ts';
import { checkSettling } from './check-settling.ts';
import { keyOfEntry } from './messages.ts';
import type { Handle } from './queue-backend.ts';
import { QueueConnection } from './queue-connection.ts';
import type { SenderProcess } from './sender-process.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

/** The methods that are watched. The others only pass through the connection. */
export class WatchedQueue implements Partial<MessageQueue> {
  readonly durability;
  /** What the sender calls. */
  readonly connected: MessageQueue;
  readonly #world: World;
  readonly #process: SenderProcess;
  readonly #connection: QueueConnection;
  readonly #handle: Handle;
  /** Whether `open` has succeeded. */
  isOpened = false;
  #stopListening = (): void => {};

  constructor(world: World, process: SenderProcess) {
    this.#world = world;
    this.#process = process;
    this.#connection = new QueueConnection(world, process);
    this.#handle = world.backend.attach();
    this.durability = world.scenario.isDurable ? ('process-crash' as const) : ('memory' as const);
    this.connected = this.#connection.connect(this.#handle.queue, this);
  }

  readonly open: MessageQueue['open'] = async (initialState) => {
    const backlog = await this.#handle.queue.open(initialState);
    this.isOpened = true;
    this.#process.backlogMessages = this.#world.expected.pendingCount;
    return backlog;
  };

  readonly enqueue: MessageQueue['enqueue'] = async (entries, delayMs = 0) => {
    const { expected } = this.#world;
    const messages = entries.map((entry) => this.#expect(entry, delayMs));
    try {
      const enqueued = await this.#handle.queue.enqueue(entries, delayMs);
      for (const message of messages) {
        if (!enqueued.closed.includes(message.applicationId)) expected.accept(message);
      }
      return enqueued;
    } finally {
      for (const message of messages) expected.forget(message);
    }
  };

  #expect(entry: QueueEntry, delayMs: number): Tracked {
    const { expected, now, given } = this.#world;
    const key = keyOfEntry(entry);
    const isPoison = given.get(key)?.isPoison === true;
    return expected.expect(entry, { key, isPoison, acceptedBy: this.#process.key, now, delayMs });
  }

  readonly claim: MessageQueue['claim'] = async (request) => {
    const world = this.#world;
    world.expected.expireLeases(world.now);
    const hadNoOverlap = world.backend.calls?.watchForOverlap() ?? (() => true);
    const answer = await this.#handle.queue.claim(request);
    if (!('id' in answer)) return answer;
    // Waits for a settle or release whose result is still outstanding: it came before this claim.
    const ending = world.endings.get(answer.applicationId);
    if (ending !== undefined) await ending.catch(() => {});
    if (hadNoOverlap()) checkTurn(world, answer.applicationId);
    const endsAt = world.now + request.leaseMs;
    const destination = world.destination(answer.applicationId);
    const at = { claimedBy: this.#process.key, claimedAt: world.now, endsAt, destination };
    const held = world.expected.claim(answer, at);
    held.isResultLost = world.queueFault === 'loses-answer';
    if (!held.isResultLost) checkClaim(world, held, this.#process);
    this.#process.runPlanned('claim');
    return answer;
  };

  readonly settle: MessageQueue['settle'] = (claim, results, state) =>
    this.#endClaim(claim, async () => {
      const world = this.#world;
      const answer = await this.#handle.queue.settle(claim, results, state);
      const held = world.expected.held(claim);
      world.check(
        (held !== undefined) === (answer === 'settled'),
        'ledger',
        () =>
          `the claim should be ${held === undefined ? 'lost' : 'live'}, the queue answered ${answer}`,
      );
      if (held === undefined) return answer;
      checkSettling(world, held, { results, state });
      world.expected.settle(held, results, world.now);
      world.expectEvent('dead', results.filter(({ kind }) => kind === 'dead').length);
      world.expected.write(claim.applicationId, state, world.now);
      return answer;
    });

  readonly release: MessageQueue['release'] = (claim, state) =>
    this.#endClaim(claim, async () => {
      const world = this.#world;
      const answer = await this.#handle.queue.release(claim, state);
      const held = world.expected.held(claim);
      if (held === undefined) return answer;
      checkRelease(world, held, { state, process: this.#process });
      world.expected.release(held, world.now);
      if (state !== undefined) world.expected.write(claim.applicationId, state, world.now);
      return answer;
    });

  /** Ends a claim. A later claim waits until this one is recorded in the expected state. */
  async #endClaim<T>({ applicationId }: Claim, work: () => Promise<T>): Promise<T> {
    const { endings, expected, now } = this.#world;
    expected.expireLeases(now);
    const ending = work();
    endings.set(applicationId, ending);
    try {
      return await ending;
    } finally {
      if (endings.get(applicationId) === ending) endings.delete(applicationId);
    }
  }

  readonly extend: MessageQueue['extend'] = async (claim, leaseMs) => {
    const { expected, now } = this.#world;
    expected.expireLeases(now);
    const answer = await this.#handle.queue.extend(claim, leaseMs);
    if (answer === 'extended') expected.extend(claim, now + leaseMs);
    return answer;
  };

  readonly deadLetterOlderThan: MessageQueue['deadLetterOlderThan'] = (
    olderThanMs,
    maxMessages,
  ) => {
    const { horizonMs } = this.#world.scenario.policy.schedule;
    return this.#expireWith(
      'horizon-passed',
      () => this.#handle.queue.deadLetterOlderThan(olderThanMs, maxMessages),
      ({ acceptedAt }) => this.#world.now - acceptedAt >= horizonMs,
    );
  };

  readonly applicationState: MessageQueue['applicationState'] = async (applicationId) => {
    const state = await this.#handle.queue.applicationState(applicationId);
    const { claim } = this.#world.expected.application(applicationId);
    const attempt = claim && this.#world.attempts.get(claim.claim.id);
    if (attempt?.end !== undefined && state?.health === 'untried') attempt.isReopened = true;
    return state;
  };

  readonly deadLetterClosed: MessageQueue['deadLetterClosed'] = (applicationId, maxMessages) =>
    this.#expireWith(
      'destination-closed',
      () => this.#handle.queue.deadLetterClosed(applicationId, maxMessages),
      () => this.#world.expected.application(applicationId).health === 'closed',
    );

  readonly reopenApplication: MessageQueue['reopenApplication'] = async (applicationId) => {
    const { expected } = this.#world;
    // Reopening a healthy application has no effect.
    const isHealthy = expected.application(applicationId).health === 'healthy';
    await this.#handle.queue.reopenApplication(applicationId);
    if (isHealthy) return;
    expected.reopen(applicationId);
    const { health, missing } = this.#world.destination(applicationId);
    const reopened = this.#world.newDestination(applicationId);
    // Reopening an untried one only ends its pause.
    if (health === 'untried') reopened.missing = missing;
  };

  readonly replayDeadLetters: MessageQueue['replayDeadLetters'] = (filter) =>
    this.#removeDeadLetters(
      () => this.#handle.queue.replayDeadLetters(filter),
      (messageId) => this.#world.expected.revive(messageId, this.#world.now),
    );

  readonly purgeDeadLetters: MessageQueue['purgeDeadLetters'] = (filter) =>
    this.#removeDeadLetters(
      () => this.#handle.queue.purgeDeadLetters(filter),
      (messageId) => this.#world.expected.discard(messageId, 'purged'),
    );

  readonly onDue: MessageQueue['onDue'] = (listener) => {
    this.#stopListening = this.#handle.queue.onDue(() => {
      if (this.#process.isAlive) listener();
    });
    return this.#stopListening;
  };

  /** A durable queue outlives its process. A memory queue returns its messages (D79). */
  readonly close = async (): Promise<QueueClosing> => {
    const { backend, expected, scenario, now } = this.#world;
    const { queue } = this.#handle;
    this.#stopListening();
    this.#connection.isClosed = true;
    if (backend.calls !== undefined) {
      expected.expireLeases(now);
      const closing = await queue.close();
      expected.releaseAll(this.#process.key, now);
      return closing;
    }
    if (scenario.isDurable) return { returned: [], remaining: (await queue.stats()).pending };
    const closing = await queue.close();
    for (const { stored } of closing.returned) expected.discard(stored.messageId, 'returned');
    return closing;
  };

  /** Called when the process crashes. */
  drop(): void {
    this.#stopListening();
    this.#handle.drop();
  }

  async #expireWith(
    reason: DeadReason,
    work: () => Promise<readonly DeadLetteredMessage[]>,
    isTrue: (message: Tracked) => boolean,
  ): Promise<readonly DeadLetteredMessage[]> {
    const world = this.#world;
    const { expected, now } = world;
    expected.expireLeases(now);
    const ended = await work();
    for (const { messageId } of ended) {
      const message = expected.message(messageId);
      world.check(isTrue(message), 'dead-reason', () => `${message.key}: ${reason} is not true`);
      expected.end(messageId, reason, now);
      world.expectEvent('dead');
    }
    return ended;
  }

  async #removeDeadLetters(
    work: () => Promise<number>,
    leave: (messageId: string) => void,
  ): Promise<number> {
    const before = await this.#deadIds();
    const count = await work();
    const after = new Set(await this.#deadIds());
    for (const messageId of before) if (!after.has(messageId)) leave(messageId);
    return count;
  }

  async #deadIds(): Promise<string[]> {
    const { items } = await this.#handle.queue.listDeadLetters({ limit: 1000 });
    return items.map(({ stored }) => stored.messageId);
  }
}
