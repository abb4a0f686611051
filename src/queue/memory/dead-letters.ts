import type {
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  DeadReason,
  Json,
  MessageQueue,
  StoredMessage,
} from '../queue.ts';
import { cursorNumber } from '../stored-values.ts';
import type { Application } from './application.ts';
import { storedMessages, type WaitingMessage } from './message.ts';

export interface Letter {
  /** Rises with each dead letter. The public id is its text. */
  readonly id: number;
  readonly application: Application;
  readonly message: WaitingMessage;
  readonly reason: DeadReason;
  readonly lastAttempt: Json;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  readonly diedAt: number;
}

/** Dead letters, oldest first, bounded in bytes: the oldest are evicted. */
export class DeadLetters {
  readonly #letters = new Map<number, Letter>();
  /** Continues after the last evicted letter: a new iterator would first skip the gaps that evicted letters left. */
  readonly #oldest = this.#letters.values();
  readonly #maxBytes: number;
  #bytes = 0;
  #lastId = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(letter: Omit<Letter, 'id'>): void {
    const { application, message, reason, lastAttempt, acceptedAt, diedAt } = letter;
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
    // Never `undefined`: only letters can exceed the limit, and the iterator returns each once.
    const oldest = this.#oldest.next().value as Letter;
    this.remove(oldest);
    oldest.application.discard('evicted');
  }

  page(request: Parameters<MessageQueue['listDeadLetters']>[0]): DeadLetterPage {
    const { limit } = request;
    const after = cursorNumber(request.after);
    const isWanted = matching(request);
    const found: Letter[] = [];
    for (const letter of this.#letters.values()) {
      // One letter more than the page shows that there is another page.
      if (found.length > limit) break;
      if (letter.id > after && isWanted(letter)) found.push(letter);
    }
    const items = toDeadLetters(found.slice(0, limit));
    const next = found.length > limit ? items.at(-1)?.id : undefined;
    return next === undefined ? { items } : { items, next };
  }

  /** Returns the letters that match the filter, oldest first. */
  find(filter: DeadLetterFilter): Letter[] {
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

  remove({ id, application, message }: Letter): void {
    this.#letters.delete(id);
    this.#bytes -= message.sizeBytes;
    application.counts.dead -= 1;
  }
}

function matching({ applicationId, ids }: DeadLetterFilter): (letter: Letter) => boolean {
  const wanted = ids === undefined ? undefined : new Set(ids);
  return ({ id, application }) =>
    (applicationId === undefined || applicationId === application.id) &&
    (wanted === undefined || wanted.has(String(id)));
}

function toDeadLetters(letters: readonly Letter[]): DeadLetter[] {
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
