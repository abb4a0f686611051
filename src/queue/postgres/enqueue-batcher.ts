/**
 * Batches calls of `enqueue`: those that arrive while a transaction is under way share the next one, so
 * that many small calls share a commit.
 */
import { SecurityEventError } from '../../errors.ts';
import type { EnqueueResult, QueueEntry } from '../queue.ts';
import { toEscaped } from './conversions.ts';
import { isAboutValues } from './failure.ts';

/** Of one transaction, unless a single call has more. */
const MAX_MESSAGES = 2000;
const MAX_BYTES = 8 * 1024 * 1024;

/** Applications are found by an index, which takes no longer ids: 2704 bytes less its own. */
const MAX_ID_BYTES = 2690;

/** A call with less of its time left does not begin: an early end of its transaction would fail others. */
const MIN_REMAINING = 0.1;

export interface EnqueueBatcherParts {
  readonly store: (
    entries: readonly QueueEntry[],
    delayMs: number,
    timeoutMs: number,
  ) => Promise<EnqueueResult>;
  readonly callTimeoutMs: number;
  readonly monotonicMs: () => number;
}

interface Waiting {
  readonly entries: readonly QueueEntry[];
  readonly delayMs: number;
  readonly bytes: number;
  readonly endsAt: number;
  readonly resolve: (enqueued: EnqueueResult) => void;
  readonly reject: (error: unknown) => void;
}

export class EnqueueBatcher {
  readonly #parts: EnqueueBatcherParts;
  #waiting: Waiting[] = [];
  #isStoring = false;

  constructor(parts: EnqueueBatcherParts) {
    this.#parts = parts;
  }

  /** Rejects with ERR_MESSAGE_TOO_LARGE if an application's id is longer than the database allows. */
  async enqueue(entries: readonly QueueEntry[], delayMs: number): Promise<EnqueueResult> {
    checkIds(entries);
    const { monotonicMs, callTimeoutMs } = this.#parts;
    const bytes = entries.reduce((sum, { stored }) => sum + stored.bytes.length, 0);
    const endsAt = monotonicMs() + callTimeoutMs;
    return await new Promise((resolve, reject) => {
      this.#waiting.push({ entries, delayMs, bytes, endsAt, resolve, reject });
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

  async #storeTogether(batch: readonly Waiting[]): Promise<void> {
    const { monotonicMs, callTimeoutMs } = this.#parts;
    const minEndsAt = monotonicMs() + callTimeoutMs * MIN_REMAINING;
    const calls = batch.filter(({ endsAt }) => endsAt >= minEndsAt);
    for (const { endsAt, reject } of batch) if (endsAt < minEndsAt) reject(neverSent());
    const [first] = calls;
    if (first === undefined) return;
    const timeoutMs = first.endsAt - monotonicMs();
    try {
      const entries = calls.length === 1 ? first.entries : calls.flatMap((call) => call.entries);
      const stored = await this.#parts.store(entries, first.delayMs, timeoutMs);
      const parts = calls.length === 1 ? [stored] : partsOf(calls, stored);
      for (const [index, part] of parts.entries()) calls[index]?.resolve(part);
    } catch (error) {
      if (calls.length > 1 && isOneCalls(error)) {
        for (const call of calls) await this.#storeTogether([call]);
      } else for (const { reject } of calls) reject(error);
    }
  }
}

const neverSent = (): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', {
    detail: 'PostgreSQL did not answer earlier calls in time; nothing of this call was stored',
  });

/** Checks before anything is stored: the server would not say which entry it refuses. */
function checkIds(entries: readonly QueueEntry[]): void {
  let known: string | undefined;
  for (const [index, { applicationId }] of entries.entries()) {
    if (applicationId === known) continue;
    known = applicationId;
    const bytes = Buffer.byteLength(toEscaped(applicationId));
    if (bytes <= MAX_ID_BYTES) continue;
    const detail = `an application's id of ${bytes} bytes is longer than PostgreSQL's index takes (${MAX_ID_BYTES})`;
    throw new SecurityEventError('ERR_MESSAGE_TOO_LARGE', { detail, path: [index] });
  }
}

/** One of the calls may be at fault, and the others would be stored. */
const isOneCalls = (error: unknown): boolean =>
  isAboutValues(error) || (error instanceof SecurityEventError && error.code === 'ERR_QUEUE_FULL');

/** Returns to each call its part of what was stored for all of them. */
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
