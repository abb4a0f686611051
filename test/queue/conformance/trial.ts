/** One queue, and short forms of its calls. */
import assert from 'node:assert/strict';
import { expect, onTestFinished } from 'vitest';
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
import type { QueueBounds, QueueHarness, QueueUnderTest } from './harness.ts';

export const INITIAL: ApplicationState = {
  health: 'healthy',
  maxMessages: 1000,
  maxBytes: 1_000_000,
  circuitBreaker: null,
};

/** A state in which every value differs from the initial one. */
export const FAILING: ApplicationState = {
  health: 'failing',
  maxMessages: 7,
  maxBytes: 7000,
  circuitBreaker: { failures: [1, null] },
};

/** Settles a claim without a change to the state of its application. */
export const LAST: ApplicationUpdate = { ...INITIAL, pauseMs: 0 };

export const DELIVERED: MessageResult = { kind: 'delivered' };
export const DEAD: MessageResult = {
  kind: 'dead',
  reason: 'attempts-exhausted',
  lastAttempt: { status: 500 },
};

export const retry = (
  afterMs: number,
  more: { maxMessages?: number; retryState?: number } = {},
): MessageResult => ({ kind: 'retry', afterMs, retryState: null, ...more });

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

export const manyOf = (applicationId: string, count: number): QueueEntry[] =>
  Array.from({ length: count }, () => entryOf(applicationId));

/** Matches an error with this code and a message that contains the text. */
export const failedWith = (text: string, code = 'ERR_QUEUE_FAILED'): object =>
  expect.objectContaining({ code, message: expect.stringContaining(text) });

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

/** Claims messages. Some must be due. */
export async function claimFrom(queue: MessageQueue, request = REQUEST): Promise<Claim> {
  // A new object for each claim, as the scheduler makes it.
  const claim = await queue.claim({ ...request });
  assert(isClaim(claim), 'nothing was claimed');
  return claim;
}

/** Settles a claim with the same result for each message. */
export const settleAll = (
  queue: MessageQueue,
  claim: Claim,
  { result = DELIVERED, ...state }: Partial<ApplicationUpdate> & { result?: MessageResult } = {},
): Promise<'settled' | 'lost'> => {
  const results = claim.messages.map(() => result);
  return queue.settle(claim, results, { ...LAST, ...state });
};

/** Delivers all messages that can be claimed. Returns their ids. */
export async function deliverAll(queue: MessageQueue, request = REQUEST): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const claim = await queue.claim(request);
    if (!isClaim(claim)) return ids;
    ids.push(...idsOf(claim));
    await settleAll(queue, claim);
  }
}

/** Closes the application whose turn it is, as a sender does when it settles a request. */
export async function closeApplication(queue: MessageQueue): Promise<void> {
  const claim = await claimFrom(queue, { ...REQUEST, maxMessages: 1 });
  await queue.settle(claim, [retry(0)], { ...INITIAL, health: 'closed', pauseMs: 0 });
}

/** Leaves out counts of 0, which a queue may omit. */
export const counted = (discarded: Readonly<Record<string, number | undefined>>) =>
  Object.fromEntries(Object.entries(discarded).filter(([, count]) => (count ?? 0) > 0));

export class Trial {
  readonly #subject: QueueUnderTest;
  queue: MessageQueue;
  /** What the queue held when it was last opened. */
  backlog: Backlog | undefined;

  constructor(subject: QueueUnderTest) {
    this.#subject = subject;
    this.queue = subject.queue;
  }

  static async start(harness: QueueHarness, bounds?: QueueBounds): Promise<Trial> {
    const subject = await harness.create(bounds);
    onTestFinished(() => subject.dispose());
    const trial = new Trial(subject);
    trial.backlog = await trial.queue.open(INITIAL);
    return trial;
  }

  advance(ms: number): Promise<void> {
    return this.#subject.advance(ms);
  }

  /** Opens the queue again from its storage. */
  async reopen(how: 'closed' | 'crashed'): Promise<void> {
    if (how === 'closed') await this.queue.close();
    this.queue = (await this.#subject.reopen?.(how)) ?? this.queue;
    this.backlog = await this.queue.open(INITIAL);
  }

  /** Opens another handle. A memory queue has only one. */
  async join(): Promise<MessageQueue> {
    const other = (await this.#subject.join?.()) ?? this.queue;
    if (other !== this.queue) await other.open(INITIAL);
    return other;
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
      leaseMs: 10_000,
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

  /** Settles a claim. The last result is also that of all further messages. */
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
  async deadLetterDue(): Promise<void> {
    for (;;) {
      const claimed = await this.queue.claim(this.request());
      if (!isClaim(claimed)) return;
      await this.settle(claimed, DEAD);
    }
  }

  async deadLetters(): Promise<readonly DeadLetter[]> {
    return (await this.queue.listDeadLetters({ limit: 10_000 })).items;
  }

  /** Returns accepted, delivered, pending and dead. Checks that they add up (law 7). */
  async counts(): Promise<[number, number, number, number]> {
    const { accepted, delivered, pending, dead, discarded } = await this.queue.stats();
    const sum = Object.values(discarded).reduce((total, count) => total + count, 0);
    assert.equal(delivered + pending + dead + sum, accepted);
    return [accepted, delivered, pending, dead];
  }
}
