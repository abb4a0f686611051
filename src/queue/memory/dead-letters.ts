import type {
  DeadLetter,
  DeadLetterFilter,
  DeadLetterPage,
  DeadReason,
  Json,
  StoredMessage,
} from '../queue.ts';
import type { Application } from './application.ts';
import { Fifo } from './fifo.ts';
import { keepAlone, storedMessages, type WaitingMessage } from './waiting-message.ts';

/** A message, and whose it is. */
export interface Owned {
  readonly application: Application;
  readonly message: WaitingMessage;
}

interface Death extends Owned {
  readonly reason: DeadReason;
  readonly lastAttempt: Json;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  readonly diedAt: number;
}

interface Numbered extends Death {
  /** Ascending; as text, the letter's id. */
  readonly id: number;
}

export interface PageRequest extends DeadLetterFilter {
  readonly limit: number;
  readonly after?: string;
}

/** Dead letters in the order of death, up to so many bytes: past them the oldest are discarded. */
export class DeadLetters {
  readonly #letters = new Fifo<Numbered>();
  readonly #maxBytes: number;
  #bytes = 0;
  #lastId = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add({ application, message, reason, lastAttempt, acceptedAt, diedAt }: Death): void {
    this.#lastId += 1;
    const id = this.#lastId;
    keepAlone(message);
    // Named one by one: for thousands at a time a spread is most of the work.
    this.#letters.push({ id, application, message, reason, lastAttempt, acceptedAt, diedAt });
    this.#bytes += message.sizeBytes;
    application.counts.dead += 1;
    while (this.#bytes > this.#maxBytes) {
      const oldest = this.#letters.shift() as Numbered;
      this.#forget(oldest);
      oldest.application.discard('evicted');
    }
  }

  page(request: PageRequest): DeadLetterPage {
    const { limit, after } = request;
    const isMeant = matching(request);
    const found: Numbered[] = [];
    let index = after === undefined ? 0 : this.#indexBehind(Number(after));
    // One more than is shown tells whether there is another page.
    for (; index < this.#letters.size && found.length <= limit; index += 1) {
      const letter = this.#letters.at(index) as Numbered;
      if (isMeant(letter)) found.push(letter);
    }
    const items = shown(found.slice(0, limit));
    const next = found.length > limit ? items.at(-1)?.id : undefined;
    return next === undefined ? { items } : { items, next };
  }

  /** Takes out what the filter means and `mayLeave` lets go, oldest first. */
  take(filter: DeadLetterFilter, mayLeave: (death: Death) => boolean = () => true): Death[] {
    const isMeant = matching(filter);
    const taken = this.#letters.extract((letter) => isMeant(letter) && mayLeave(letter));
    for (const letter of taken) this.#forget(letter);
    return taken;
  }

  #forget({ application, message }: Death): void {
    this.#bytes -= message.sizeBytes;
    application.counts.dead -= 1;
  }

  /** The letter of that id need not be there any more. */
  #indexBehind(id: number): number {
    let low = 0;
    let high = this.#letters.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#letters.at(middle) as Numbered).id > id) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

function matching({ applicationId, ids }: DeadLetterFilter): (letter: Numbered) => boolean {
  const wanted = ids === undefined ? undefined : new Set(ids);
  return ({ id, application }) =>
    (applicationId === undefined || applicationId === application.id) &&
    (wanted === undefined || wanted.has(String(id)));
}

function shown(letters: readonly Numbered[]): DeadLetter[] {
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
