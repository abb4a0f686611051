/** What becomes of one event's message. */
import { CallPlace } from '../system/call-place.ts';
import type { Settlement } from './receipt.ts';

/** How a message fared so far: accepted, or an end. */
export interface Sending {
  readonly isAccepted: boolean;
  readonly settled: () => Promise<Settlement>;
}

export const ended = (settlement: Settlement): Sending => ({
  isAccepted: false,
  settled: () => Promise.resolve(settlement),
});

/** Told once, and asked whenever: a promise is made for whoever asks, and for nobody else. */
export class EventFate {
  /** Where the event happened. */
  readonly place = new CallPlace();
  #sending: Sending | undefined;
  #asked: Promise<Sending> | undefined;
  #answer: ((sending: Sending) => void) | undefined;

  tell(sending: Sending): void {
    this.#sending = sending;
    this.#answer?.(sending);
  }

  /** Never rejects. */
  get sending(): Promise<Sending> {
    this.#asked ??= new Promise((resolve) => {
      if (this.#sending !== undefined) resolve(this.#sending);
      else this.#answer = resolve;
    });
    return this.#asked;
  }
}
