/**
 * Calls of `enqueue`, gathered: while one transaction is under way those that come meanwhile wait,
 * and go together in the next one, so that many small calls share a commit.
 */
import { SecurityEventError } from '../../errors.ts';
import type { Enqueued, QueueEntry } from '../queue.ts';
import { isAboutValues } from './postgres-failure.ts';
import { toText } from './words.ts';

/** Of one transaction, unless a single call has more. */
const MAX_MESSAGES = 2000;
const MAX_BYTES = 8 * 1024 * 1024;

/** Applications are found by an index, which takes no longer ids: 2704 bytes less its own. */
const MAX_ID_BYTES = 2690;

export type Store = (entries: readonly QueueEntry[]) => Promise<Enqueued>;

interface Waiting {
  readonly entries: readonly QueueEntry[];
  readonly bytes: number;
  readonly resolve: (enqueued: Enqueued) => void;
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
  async enqueue(entries: readonly QueueEntry[]): Promise<Enqueued> {
    checkIds(entries);
    const bytes = entries.reduce((sum, { stored }) => sum + stored.bytes.length, 0);
    return await new Promise((resolve, reject) => {
      this.#waiting.push({ entries, bytes, resolve, reject });
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
      return index > 0 && (messages > MAX_MESSAGES || bytes > MAX_BYTES);
    });
    const count = end === -1 ? this.#waiting.length : end;
    return this.#waiting.splice(0, count);
  }

  async #storeTogether(calls: readonly Waiting[]): Promise<void> {
    const [first] = calls;
    if (calls.length === 1 && first !== undefined) {
      await this.#store(first.entries).then(first.resolve, first.reject);
      return;
    }
    try {
      const { closed } = await this.#store(calls.flatMap(({ entries }) => entries));
      for (const call of calls) call.resolve({ closed: closedOf(call.entries, closed) });
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

/** Those that this call has new messages of. */
function closedOf(entries: readonly QueueEntry[], closed: readonly string[]): string[] {
  if (closed.length === 0) return [];
  const own = entries.filter(({ past }) => past?.death === undefined);
  const ids = new Set(own.map(({ applicationId }) => applicationId));
  return closed.filter((id) => ids.has(id));
}
