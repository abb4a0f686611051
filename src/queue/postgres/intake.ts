/**
 * Calls of `enqueue`, gathered: while one transaction is under way those that come meanwhile wait,
 * and go together in the next one, so that many small calls share a commit.
 */
import { SecurityEventError } from '../../errors.ts';
import type { EnqueueResult, QueueEntry } from '../queue.ts';
import { isAboutValues } from './postgres-failure.ts';
import { toText } from './words.ts';

/** Of one transaction, unless a single call has more. */
const MAX_MESSAGES = 2000;
const MAX_BYTES = 8 * 1024 * 1024;

/** Applications are found by an index, which takes no longer ids: 2704 bytes less its own. */
const MAX_ID_BYTES = 2690;

export type Store = (entries: readonly QueueEntry[], delayMs: number) => Promise<EnqueueResult>;

interface Waiting {
  readonly entries: readonly QueueEntry[];
  readonly delayMs: number;
  readonly bytes: number;
  readonly resolve: (enqueued: EnqueueResult) => void;
  readonly reject: (error: unknown) => void;
}

export class Intake {
  readonly #store: Store;
  #waiting: Waiting[] = [];
  #isStoring = false;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Rejects with ERR_MESSAGE_TOO_LARGE where an id is longer than the database takes. */
  async enqueue(entries: readonly QueueEntry[], delayMs: number): Promise<EnqueueResult> {
    checkIds(entries);
    const bytes = entries.reduce((sum, { stored }) => sum + stored.bytes.length, 0);
    return await new Promise((resolve, reject) => {
      this.#waiting.push({ entries, delayMs, bytes, resolve, reject });
      if (!this.#isStoring) void this.#storeAll();
    });
  }

  async #storeAll(): Promise<void> {
    this.#isStoring = true;
    while (this.#waiting.length > 0) await this.#storeTogether(this.#next());
    this.#isStoring = false;
  }

  #next(): Waiting[] {
    let messages = 0;
    let bytes = 0;
    const end = this.#waiting.findIndex((call, index) => {
      messages += call.entries.length;
      bytes += call.bytes;
      const isFull = messages > MAX_MESSAGES || bytes > MAX_BYTES;
      return index > 0 && (isFull || call.delayMs !== this.#waiting[0]?.delayMs);
    });
    const count = end === -1 ? this.#waiting.length : end;
    return this.#waiting.splice(0, count);
  }

  async #storeTogether(calls: readonly Waiting[]): Promise<void> {
    const [first] = calls;
    if (first === undefined) return;
    if (calls.length === 1) {
      await this.#store(first.entries, first.delayMs).then(first.resolve, first.reject);
      return;
    }
    try {
      const all = calls.flatMap(({ entries }) => entries);
      const stored = await this.#store(all, first.delayMs);
      for (const [index, part] of partsOf(calls, stored).entries()) calls[index]?.resolve(part);
    } catch (error) {
      if (isOneCalls(error)) for (const call of calls) await this.#storeTogether([call]);
      else for (const { reject } of calls) reject(error);
    }
  }
}

/** Before anything is stored: the server would refuse the call, and not say for which of its entries. */
function checkIds(entries: readonly QueueEntry[]): void {
  let known: string | undefined;
  for (const [index, { applicationId }] of entries.entries()) {
    if (applicationId === known) continue;
    known = applicationId;
    const bytes = Buffer.byteLength(toText(applicationId));
    if (bytes <= MAX_ID_BYTES) continue;
    const detail = `an application's id of ${bytes} bytes is longer than PostgreSQL's index takes (${MAX_ID_BYTES})`;
    throw new SecurityEventError('ERR_MESSAGE_TOO_LARGE', { detail, path: [index] });
  }
}

/** One of the calls may be at fault, and the others would have been stored. */
const isOneCalls = (error: unknown): boolean =>
  isAboutValues(error) || (error instanceof SecurityEventError && error.code === 'ERR_QUEUE_FULL');

/** Gives each call its part of what was stored for all of them. */
function partsOf(calls: readonly Waiting[], { sequences, closed }: EnqueueResult): EnqueueResult[] {
  const isClosed = new Set(closed);
  let end = 0;
  return calls.map(({ entries }) => {
    const start = end;
    const own = new Set(entries.map(({ applicationId }) => applicationId));
    for (const { applicationId } of entries) if (!isClosed.has(applicationId)) end += 1;
    return {
      sequences: sequences.slice(start, end),
      closed: closed.filter((id) => own.has(id)),
    };
  });
}
