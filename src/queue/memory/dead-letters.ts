import type {
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  DeadReason,
  Json,
  StoredMessage,
} from '../queue.ts';
import type { Application } from './application.ts';
import { storedMessages, type WaitingMessage } from './message.ts';

interface Death {
  readonly application: Application;
  readonly message: WaitingMessage;
  readonly reason: DeadReason;
  readonly lastAttempt: Json;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  readonly diedAt: number;
}

interface Kept extends Death {
  /** Ascending. As text it is the letter's id. */
  readonly id: number;
}

export interface PageRequest extends DeadLetterFilter {
  readonly limit: number;
  readonly after?: string;
}

/** Dead letters in the order of their deaths, bounded in bytes: the oldest are evicted. */
export class DeadLetters {
  readonly #letters = new Map<number, Kept>();
  /** Continues after the last evicted letter: a new iterator would first skip the gaps of all evicted ones. */
  #oldest = this.#letters.values();
  readonly #maxBytes: number;
  #bytes = 0;
  #lastId = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add({ application, message, reason, lastAttempt, acceptedAt, diedAt }: Death): void {
    this.#lastId += 1;
    message.detach();
    // Property by property: a spread takes most of the time when thousands die at once.
    const id = this.#lastId;
    this.#letters.set(id, { id, application, message, reason, lastAttempt, acceptedAt, diedAt });
    this.#bytes += message.sizeBytes;
    application.counts.dead += 1;
    while (this.#bytes > this.#maxBytes) this.#evict();
  }

  #evict(): void {
    const { value } = this.#oldest.next();
    if (value === undefined) {
      this.#oldest = this.#letters.values();
    } else {
      this.remove(value);
      value.application.discard('evicted');
    }
  }

  page(request: PageRequest): DeadLetterPage {
    const { limit, after = 0 } = request;
    const isWanted = matching(request);
    const found: Kept[] = [];
    for (const letter of this.#letters.values()) {
      // One more than the page holds shows that there is another page.
      if (found.length > limit) break;
      if (letter.id > Number(after) && isWanted(letter)) found.push(letter);
    }
    const items = publicForms(found.slice(0, limit));
    const next = found.length > limit ? items.at(-1)?.id : undefined;
    return next === undefined ? { items } : { items, next };
  }

  /** Returns the letters that match the filter, oldest first. */
  find(filter: DeadLetterFilter): Kept[] {
    return [...this.#letters.values()].filter(matching(filter));
  }

  purge(filter: DeadLetterFilter): number {
    const purged = this.find(filter);
    for (const letter of purged) {
      this.remove(letter);
      letter.application.discard('purged');
    }
    return purged.length;
  }

  remove({ id, application, message }: Kept): void {
    this.#letters.delete(id);
    this.#bytes -= message.sizeBytes;
    application.counts.dead -= 1;
  }
}

function matching({ applicationId, ids }: DeadLetterFilter): (letter: Kept) => boolean {
  const wanted = ids === undefined ? undefined : new Set(ids);
  return ({ id, application }) =>
    (applicationId === undefined || applicationId === application.id) &&
    (wanted === undefined || wanted.has(String(id)));
}

function publicForms(letters: readonly Kept[]): DeadLetter[] {
  const stored = storedMessages(letters.map(({ message }) => message));
  return letters.map(({ id, application, message, ...death }, index) => ({
    id: String(id),
    applicationId: application.id,
    stored: stored[index] as StoredMessage,
    sizeBytes: message.sizeBytes,
    sends: message.sends,
    ...death,
  }));
}
