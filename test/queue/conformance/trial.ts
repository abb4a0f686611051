/** One queue and the few words in which the cases speak of it. */
import assert from 'node:assert/strict';
import { onTestFinished } from 'vitest';
import type {
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  Claim,
  ClaimRequest,
  DeadLetter,
  EnqueueResult,
  Format,
  MessageQueue,
  MessageResult,
  NothingDue,
  QueueEntry,
} from '../../../src/queue/queue.ts';
import type { Hold, QueueBounds, QueueHarness, QueueUnderTest } from './harness.ts';

export const INITIAL: ApplicationState = {
  health: 'healthy',
  maxMessages: 1000,
  maxBytes: 1_000_000,
  circuitBreaker: null,
};

/** Settles a claim without a change to the state of its application. */
export const LAST: ApplicationUpdate = { ...INITIAL, pauseMs: 0 };

export const DELIVERED: MessageResult = { kind: 'delivered' };
export const DEAD: MessageResult = {
  kind: 'dead',
  reason: 'attempts-exhausted',
  lastAttempt: { status: 500 },
};

let messages = 0;

interface MessageOptions {
  readonly messageId?: string;
  readonly format?: Format;
  readonly sizeBytes?: number;
  readonly bytes?: Buffer;
}

export function entryOf(applicationId: string, options: MessageOptions = {}): QueueEntry {
  messages += 1;
  const { messageId = `message-${messages}`, format = 2 } = options;
  const bytes = options.bytes ?? Buffer.from(`{"message_id":"${messageId}","date_created":""}`);
  const slots = format === 2 ? { dateAt: 5, countAt: 9 } : { dateAt: 0, countAt: 0 };
  return {
    applicationId,
    stored: { messageId, format, bytes, ...slots },
    sizeBytes: options.sizeBytes ?? 100,
  };
}

export const idsOf = (claim: Claim): string[] =>
  claim.messages.map(({ stored }) => stored.messageId);

export const isClaim = (claimed: Claim | NothingDue): claimed is Claim => 'messages' in claimed;

/** Claims all due messages of one healthy application. */
export const REQUEST: ClaimRequest = {
  ofHealth: ['healthy'],
  maxMessages: 1000,
  maxBytes: 1e9,
  leaseMs: 60_000,
};

/** Claims messages, of which there have to be some. */
export async function claimFrom(queue: MessageQueue, request = REQUEST): Promise<Claim> {
  // A new object for each claim, as the scheduler makes it.
  const claim = await queue.claim({ ...request });
  assert(isClaim(claim), 'nothing was claimed');
  return claim;
}

/** Closes the application whose turn it is, as a sender does: when it settles a request. */
export async function closeApplication(queue: MessageQueue): Promise<void> {
  const claim = await claimFrom(queue, { ...REQUEST, maxMessages: 1 });
  const retry = { kind: 'retry', afterMs: 0, retryState: null } as const;
  await queue.settle(claim, [retry], { ...INITIAL, health: 'closed', pauseMs: 0 });
}

/** Leaves out counts of 0, which a queue may omit. */
export const counted = (discarded: Readonly<Record<string, number | undefined>>) =>
  Object.fromEntries(Object.entries(discarded).filter(([, count]) => (count ?? 0) > 0));

export class Trial {
  readonly harness: QueueHarness;
  readonly #subject: QueueUnderTest;
  queue: MessageQueue;
  /** What the queue held when it was opened last. */
  backlog: Backlog | undefined;

  constructor(harness: QueueHarness, subject: QueueUnderTest) {
    this.harness = harness;
    this.#subject = subject;
    this.queue = subject.queue;
  }

  static async start(harness: QueueHarness, bounds?: QueueBounds): Promise<Trial> {
    const subject = await harness.create(bounds);
    onTestFinished(() => subject.dispose());
    const trial = new Trial(harness, subject);
    trial.backlog = await trial.queue.open(INITIAL);
    return trial;
  }

  ms(units: number): number {
    return units * this.harness.unitMs;
  }

  advance(units: number): Promise<void> {
    return this.#subject.advance(this.ms(units));
  }

  /** Converts a time of the queue to units, and rounds it within the tolerance. */
  units(ms: number | undefined): number {
    const exact = (ms ?? Number.NaN) / this.harness.unitMs;
    const whole = Math.round(exact);
    const offMs = Math.abs(exact - whole) * this.harness.unitMs;
    return offMs <= this.harness.toleranceMs ? whole : exact;
  }

  /** Opens the queue again from its storage. */
  async reopen(how: 'closed' | 'crashed'): Promise<void> {
    if (how === 'closed') await this.queue.close();
    this.queue = (await this.#subject.reopen?.(how)) ?? this.queue;
    this.backlog = await this.queue.open(INITIAL);
  }

  async join(): Promise<MessageQueue> {
    const other = (await this.#subject.join?.()) ?? this.queue;
    if (other !== this.queue) await other.open(INITIAL);
    return other;
  }

  async hold(applicationId: string): Promise<Hold> {
    const hold = await this.#subject.hold?.(applicationId);
    if (hold === undefined) throw new Error('its calls cannot be held');
    return hold;
  }

  /** Enqueues one message for each id. */
  enqueue(applicationId: string, ...messageIds: string[]): Promise<EnqueueResult> {
    return this.queue.enqueue(messageIds.map((messageId) => entryOf(applicationId, { messageId })));
  }

  request(request: Partial<ClaimRequest> = {}): ClaimRequest {
    return {
      ofHealth: ['healthy', 'failing'],
      maxMessages: 1000,
      maxBytes: 1_000_000,
      leaseMs: this.ms(10),
      ...request,
    };
  }

  async claim(request?: Partial<ClaimRequest>): Promise<Claim> {
    const claimed = await this.queue.claim(this.request(request));
    if (!isClaim(claimed)) throw new Error(`nothing was claimed: ${JSON.stringify(claimed)}`);
    return claimed;
  }

  async nothing(request?: Partial<ClaimRequest>): Promise<NothingDue> {
    const claimed = await this.queue.claim(this.request(request));
    if (isClaim(claimed)) throw new Error(`claimed: ${idsOf(claimed).join()}`);
    return claimed;
  }

  retry(units: number, more: { maxMessages?: number; retryState?: number } = {}): MessageResult {
    return { kind: 'retry', afterMs: this.ms(units), retryState: null, ...more };
  }

  /** Settles a claim. The last result counts for all further messages. */
  settle(
    claim: Claim,
    results: MessageResult | readonly MessageResult[],
    state: Partial<ApplicationUpdate> = {},
  ): Promise<'settled' | 'lost'> {
    const given = Array.isArray(results)
      ? (results as readonly MessageResult[])
      : [results as MessageResult];
    const each = claim.messages.map((_, index) => given[index] ?? (given.at(-1) as MessageResult));
    return this.queue.settle(claim, each, { ...LAST, ...state });
  }

  /** Makes dead letters of all due messages. */
  async bury(result: MessageResult = DEAD): Promise<void> {
    for (;;) {
      const claimed = await this.queue.claim(this.request());
      if (!isClaim(claimed)) return;
      await this.settle(claimed, result);
    }
  }

  async deadLetters(): Promise<readonly DeadLetter[]> {
    return (await this.queue.listDeadLetters({ limit: 10_000 })).items;
  }

  /** accepted, delivered, pending and dead; and that they add up (law 7). */
  async counts(): Promise<[number, number, number, number]> {
    const { accepted, delivered, pending, dead, discarded } = await this.queue.stats();
    const sum = Object.values(discarded).reduce((total, count) => total + count, 0);
    assert.equal(delivered + pending + dead + sum, accepted);
    return [accepted, delivered, pending, dead];
  }
}
