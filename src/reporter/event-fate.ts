/** What becomes of one event's message. */
import { CallPlace } from '../system/call-place.ts';
import type { Settlement } from './receipt.ts';

/** How a message fared so far: accepted, or an end. */
export interface Standing {
  readonly isAccepted: boolean;
  readonly settled: () => Promise<Settlement>;
}

export const ended = (settlement: Settlement): Standing => ({
  isAccepted: false,
  settled: () => Promise.resolve(settlement),
});

/** Told once, and asked whenever: a promise is made for whoever asks, and for nobody else. */
export class EventFate {
  /** Where the event happened. */
  readonly place = new CallPlace();
  #standing: Standing | undefined;
  #asked: Promise<Standing> | undefined;
  #answer: ((standing: Standing) => void) | undefined;

  tell(standing: Standing): void {
    this.#standing = standing;
    this.#answer?.(standing);
  }

  /** Never rejects. */
  get standing(): Promise<Standing> {
    this.#asked ??= new Promise((resolve) => {
      if (this.#standing !== undefined) resolve(this.#standing);
      else this.#answer = resolve;
    });
    return this.#asked;
  }
}
