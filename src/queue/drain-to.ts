/** From one queue into another, without loss (law 9). */
import { SecurityEventError } from '../errors.ts';
import { A_FUNCTION, check, SIGNAL } from '../option-rules.ts';
import type {
  ApplicationRow,
  Claim,
  ClaimedMessage,
  DeadLetter,
  MessageQueue,
  Past,
  QueueEntry,
} from './queue.ts';

export interface DrainOptions {
  /** Ends the move between two steps; what has not moved stays where it is. */
  readonly signal?: AbortSignal;
  /** Called after each step with what has moved so far. */
  readonly onProgress?: (moved: DrainReport) => void;
}

export interface DrainReport {
  /** Messages that waited. */
  readonly waiting: number;
  readonly deadLetters: number;
  /** Of these the target has taken no waiting ones, since it is closed for them: they are dead there. */
  readonly closed: readonly string[];
}

/** Messages of one step: it is taken or refused by the target as a whole. */
const STEP = 1000;

/** A step is two commits; a process that ends within one leaves the claim, and it ends by itself. */
const LEASE_MS = 60_000;

const REQUEST = {
  tiers: [],
  early: true,
  maxMessages: STEP,
  maxBytes: 16 * 1024 * 1024,
  leaseMs: LEASE_MS,
} as const;

/** No sender has said yet how to begin with a destination. */
const UNTRIED: ApplicationRow = {
  tier: 'healthy',
  maxMessages: 1000,
  maxBytes: 16 * 1024 * 1024,
  lane: null,
};

const RULES = { signal: SIGNAL, onProgress: A_FUNCTION };

/**
 * Moves all that waits and all dead letters from one queue into another; ids, ages, times due and
 * `retry_count` go along, and applications that are closed are closed there too. Stop the senders of
 * `source` first: what they hold is not moved until their leases are over, and they are not told.
 * Both queues are opened, and neither is closed.
 *
 * Each step is stored in `target` before it leaves `source`. Where the process ends in between, that
 * step is in both: at most 1000 messages are delivered twice, under the same ids.
 *
 * Rejects with what the queues reject with, `ERR_QUEUE_FULL` of the target for one; what has not
 * moved is still in `source`, and a second call goes on. `ERR_INVALID_OPTION` for an unusable option.
 */
export async function drainTo(
  source: MessageQueue,
  target: MessageQueue,
  options: DrainOptions = {},
): Promise<DrainReport> {
  const given = check<DrainOptions>(options, RULES);
  await source.open(UNTRIED);
  await target.open(UNTRIED);
  return await new Drain(source, target, given).run();
}

class Drain {
  readonly #source: MessageQueue;
  readonly #target: MessageQueue;
  readonly #options: DrainOptions;
  readonly #closed = new Set<string>();
  #waiting = 0;
  #deadLetters = 0;

  constructor(source: MessageQueue, target: MessageQueue, options: DrainOptions) {
    this.#source = source;
    this.#target = target;
    this.#options = options;
  }

  async run(): Promise<DrainReport> {
    const { applications } = await this.#source.stats();
    const closedHere = [...applications].flatMap(([id, { tier }]) =>
      tier === 'closed' ? [id] : [],
    );
    for (const id of closedHere) await whileAny(() => this.#source.closeApplication(id, STEP));
    while (this.#mayGoOn() && (await this.#moveWaiting()));
    while (this.#mayGoOn() && (await this.#moveDead()));
    for (const id of closedHere) await whileAny(() => this.#target.closeApplication(id, STEP));
    return this.#report();
  }

  #mayGoOn(): boolean {
    return this.#options.signal?.aborted !== true;
  }

  #report(): DrainReport {
    const closed = [...this.#closed];
    return { waiting: this.#waiting, deadLetters: this.#deadLetters, closed };
  }

  async #moveWaiting(): Promise<boolean> {
    const claim = await this.#source.claim(REQUEST);
    if (!('messages' in claim)) return false;
    try {
      await this.#put(claim.messages.map((message) => waitingEntry(claim, message)));
    } catch (error) {
      await this.#source.release(claim);
      throw error;
    }
    const moved = claim.messages.map(() => ({ kind: 'moved' as const }));
    await this.#source.settle(claim, moved, { ...claim.row, waitMs: 0 });
    this.#waiting += moved.length;
    this.#options.onProgress?.(this.#report());
    return true;
  }

  async #moveDead(): Promise<boolean> {
    const { items } = await this.#source.deadLetters({ limit: STEP });
    if (items.length === 0) return false;
    await this.#target.enqueue(items.map(deadEntry));
    await this.#source.purge({ ids: items.map(({ id }) => id) }, 'moved');
    this.#deadLetters += items.length;
    this.#options.onProgress?.(this.#report());
    return true;
  }

  /** What would wait for a destination that the target has closed is a dead letter there. */
  async #put(entries: readonly QueueEntry[]): Promise<void> {
    const { closed } = await this.#target.enqueue(entries);
    if (closed.length === 0) return;
    for (const id of closed) this.#closed.add(id);
    const refused = entries.filter(({ applicationId }) => closed.includes(applicationId));
    await this.#target.enqueue(refused.map(buried));
  }
}

async function whileAny(next: () => Promise<readonly unknown[]>): Promise<void> {
  while ((await next()).length > 0);
}

function waitingEntry({ applicationId }: Claim, message: ClaimedMessage): QueueEntry {
  const { stored, origin, sends, ageMs, progress, moving } = message;
  if (moving === undefined) {
    throw new SecurityEventError('ERR_QUEUE_FAILED', {
      detail: 'it knows no early claims (law 9)',
    });
  }
  const { sizeBytes, ...wait } = moving;
  const past: Past = { sends, ageMs, progress, ...wait };
  return { applicationId, stored, sizeBytes, origin, past };
}

function buried(entry: QueueEntry): QueueEntry {
  const death = { reason: 'destination-closed', end: null } as const;
  return { ...entry, past: { ...(entry.past as Past), death } };
}

function deadEntry(letter: DeadLetter): QueueEntry {
  const { applicationId, stored, origin, sizeBytes, sends, reason, end, diedAt } = letter;
  const ageMs = diedAt - letter.acceptedAt;
  const death = { reason, end, diedAt };
  const past: Past = { sends, ageMs, dueInMs: 0, progress: null, death };
  return { applicationId, stored, origin, sizeBytes, past };
}
