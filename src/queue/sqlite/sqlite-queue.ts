import { SecurityEventError } from '../../errors.ts';
import { CallsInProgress } from '../../runtime/calls-in-progress.ts';
import { ignoreRejection, tryCall } from '../../runtime/host-calls.ts';
import { Claimed, Stored } from '../message-classes.ts';
import type {
  ApplicationState,
  Backlog,
  Claim,
  DeadLetterFilter,
  DeadLetterPage,
  Durability,
  DurableQueue,
  MessageQueue,
  NothingDue,
  QueueClosing,
  QueueEntry,
} from '../queue.ts';
import { cursorNumber } from '../stored-values.ts';
import type { PostedMessage } from './protocol.ts';
import { type FileHandle, type SharedFile, sharedFile, type WallClock } from './shared-file.ts';
import type { SqliteSettings } from './sqlite-options.ts';
import type { ClaimAnswer } from './worker/claim.ts';
import type { PageAnswer, PageRequest, PostedDeadLetters } from './worker/dead-letters.ts';
import type { PostedEntry } from './worker/enqueue.ts';
import type { Operation, Operations } from './worker/operations.ts';

/**
 * A queue in a file. The worker of the file runs the calls in order. Most methods are typed by the contract, which
 * declares their parameters.
 */
export class SqliteQueue implements DurableQueue {
  readonly durability: Durability;
  readonly #options: SqliteSettings;
  readonly #listeners = new Set<() => void>();
  readonly #handle: FileHandle;
  /** Ids of claims for which `settle` was not called: `close` releases them. */
  readonly #unsent = new Set<string>();
  /** Calls of `open` and `claim` in progress: `close` waits for them, and releases their claims. */
  readonly #running = new CallsInProgress();
  /** Absent until the queue is open. */
  #file: SharedFile | undefined;
  #closing: Promise<QueueClosing> | undefined;

  constructor(options: SqliteSettings, clock?: WallClock) {
    this.durability = options.sync ? 'power-loss' : 'process-crash';
    this.#options = options;
    this.#handle = {
      clock,
      settings: null,
      onDue: () => {
        for (const listener of this.#listeners) listener();
      },
      // An error of the host must not stop the delivery of intact messages.
      onDamage: (damage) => tryCall(() => ignoreRejection(options.onDamage?.(damage))),
    };
  }

  async open(initialState: ApplicationState): Promise<Backlog> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    return await this.#running.track(this.#open(initialState));
  }

  async #open(initialState: ApplicationState): Promise<Backlog> {
    const file = this.#file ?? sharedFile(this.#options.file);
    const { sync, maxPendingBytes, maxPendingMessages, maxDeadBytes } = this.#options;
    const bounds = { maxPendingBytes, maxPendingMessages, maxDeadBytes };
    this.#handle.settings = { sync, ...bounds, initialState };
    file.add(this.#handle);
    try {
      const backlog = await file.call(this.#handle, 'countBacklog', { args: [] });
      this.#file = file;
      return backlog;
    } catch (error) {
      if (this.#file === undefined) await file.remove(this.#handle);
      throw error;
    }
  }

  readonly enqueue: MessageQueue['enqueue'] = async (entries, delayMs = 0) => {
    const bodies = entries.map(({ stored }) => stored.bytes);
    return await this.#call('enqueue', [entries.map(postedEntry), delayMs], bodies);
  };

  readonly claim: MessageQueue['claim'] = async (request) => {
    const answer = await this.#running.track(
      this.#call('claim', [request]).then((found) => {
        if (isClaim(found)) this.#unsent.add(found.id);
        return found;
      }),
    );
    return isClaim(answer) ? claimOf(answer) : answer;
  };

  readonly settle: MessageQueue['settle'] = async ({ id }, results, update) => {
    // `findIndex` also visits holes of an array. `every` skips them, so they would count as delivered.
    const areDelivered = results.findIndex(({ kind }) => kind !== 'delivered') === -1;
    const settlement = { results: areDelivered ? null : results, count: results.length, update };
    // The messages were sent, even if this call fails (law 8).
    this.#unsent.delete(id);
    const isSettled = await this.#call('settle', [id, settlement]);
    return isSettled ? 'settled' : 'lost';
  };

  readonly release: MessageQueue['release'] = async ({ id }, state) => {
    const isReleased = await this.#call('release', [id, state ?? null]);
    this.#unsent.delete(id);
    return isReleased ? 'released' : 'lost';
  };

  readonly extend: MessageQueue['extend'] = async ({ id }, leaseMs) =>
    (await this.#call('extend', [id, leaseMs])) ? 'extended' : 'lost';

  readonly deadLetterOlderThan = this.#methodOf('deadLetterOlderThan');
  readonly deadLetterClosed = this.#methodOf('deadLetterClosed');
  readonly applicationState = this.#methodOf('applicationState');
  readonly reopenApplication = this.#methodOf('reopenApplication');
  readonly exportItems = this.#methodOf('exportItems');
  readonly stats = this.#methodOf('stats');

  readonly countPending: MessageQueue['countPending'] = async (ranges) =>
    await this.#call('countPending', [ranges.map(({ from, to }) => ({ from, to }))]);

  readonly listDeadLetters: MessageQueue['listDeadLetters'] = async (page) => {
    const { limit, after } = page;
    const posted = { filter: copyFilter(page), limit, after: cursorNumber(after) };
    return deadLettersOf(await this.#call('listDeadLetters', [posted]));
  };

  readonly replayDeadLetters: MessageQueue['replayDeadLetters'] = (filter) =>
    this.#callInPages('replay', filter);

  readonly purgeDeadLetters: MessageQueue['purgeDeadLetters'] = (filter) =>
    this.#callInPages('purge', filter);

  /** Each page is a transaction of its own, so that other processes need not wait for all pages. */
  async #callInPages(operation: 'replay' | 'purge', filter: DeadLetterFilter): Promise<number> {
    let page: PageRequest | undefined = { filter: copyFilter(filter), after: 0 };
    let sum = 0;
    while (page !== undefined) {
      const { count, after, upTo }: PageAnswer = await this.#call(operation, [page]);
      sum += count;
      page = after === undefined ? undefined : { filter: page.filter, after, upTo };
    }
    return sum;
  }

  readonly importItems: DurableQueue['importItems'] = (items) =>
    this.#call('importItems', [items as unknown as Operations['importItems'][0][0]]);

  onDue(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    return () => void this.#listeners.delete(call);
  }

  async close(): Promise<QueueClosing> {
    this.#closing ??= this.#close();
    return await this.#closing;
  }

  async #close(): Promise<QueueClosing> {
    await this.#running.waitForAll();
    this.#listeners.clear();
    if (this.#file === undefined) return { returned: [], remaining: 0 };
    try {
      const args: [string[]] = [[...this.#unsent]];
      const remaining = await this.#file.call(this.#handle, 'closeHandle', { args });
      return { returned: [], remaining };
    } finally {
      await this.#file.remove(this.#handle);
    }
  }

  #methodOf<Name extends Operation>(operation: Name) {
    return (...args: Operations[Name][0]): Promise<Operations[Name][1]> =>
      this.#call(operation, args);
  }

  async #call<Name extends Operation>(
    operation: Name,
    args: Operations[Name][0],
    bodies?: readonly Uint8Array[],
  ): Promise<Operations[Name][1]> {
    if (this.#file === undefined || this.#closing !== undefined) {
      throw new SecurityEventError('ERR_QUEUE_CLOSED');
    }
    return await this.#file.call(this.#handle, operation, { args, bodies });
  }
}

const isClaim = (answer: ClaimAnswer | NothingDue): answer is ClaimAnswer =>
  Object.hasOwn(answer, 'messages');

/** Copies a filter: it may be an object of a class, or change before it is posted. */
const copyFilter = ({ applicationId, ids }: DeadLetterFilter): DeadLetterFilter => ({
  ...(applicationId === undefined ? {} : { applicationId }),
  ...(ids === undefined ? {} : { ids: [...ids] }),
});

// Messages are posted without their bytes, which lie in one buffer in the order of the messages.

const postedEntry = ({ applicationId, stored, sizeBytes }: QueueEntry): PostedEntry => ({
  applicationId,
  messageId: stored.messageId,
  format: stored.format,
  length: stored.bytes.length,
  dateAt: stored.dateAt,
  countAt: stored.countAt,
  sizeBytes,
});

/** Returns a function that adds the bytes to a message. Must be called in the order of the messages. */
function withBytes({ buffer, byteOffset, byteLength }: Uint8Array) {
  const all = Buffer.from(buffer, byteOffset, byteLength);
  let end = 0;
  return ({ messageId, format, dateAt, countAt, length }: PostedMessage): Stored => {
    end += length;
    const bytes = all.subarray(end - length, end);
    return new Stored({ messageId, format, bytes, dateAt, countAt });
  };
}

function claimOf({ messages, bodies, ...claim }: ClaimAnswer): Claim {
  const storedOf = withBytes(bodies);
  return {
    ...claim,
    messages: messages.map((message) => {
      const { sequence, retryCount, ageMs, retryState } = message;
      return new Claimed({ sequence, stored: storedOf(message), retryCount, ageMs, retryState });
    }),
  };
}

function deadLettersOf({ letters, bodies, next }: PostedDeadLetters): DeadLetterPage {
  const storedOf = withBytes(bodies);
  const items = letters.map(({ messageId, format, dateAt, countAt, length, ...letter }) => ({
    ...letter,
    stored: storedOf({ messageId, format, dateAt, countAt, length }),
  }));
  return next === undefined ? { items } : { items, next };
}
