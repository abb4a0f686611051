/** What becomes of one event's message. */

import type { SentMessage } from './message-sink.ts';
import type { LaterEnding, Settlement } from './receipt.ts';

/** How a message fared so far: accepted, or an end. */
export interface Standing {
  readonly isAccepted: boolean;
  readonly settled: () => Promise<Settlement>;
}

type Accepted = Extract<SentMessage, { readonly isAccepted: true }>;

export const ended = (settlement: Settlement): Standing => ({
  isAccepted: false,
  settled: () => Promise.resolve(settlement),
});

const ACCEPTED = { outcome: 'accepted' } as const;

const standingOf = (told: Standing | Accepted): Standing =>
  isStanding(told) ? told : { isAccepted: true, settled: () => endOf(told) };

/** By a key of its own: what a polluted prototype gives every object says nothing. */
const isStanding = (told: Standing | Accepted): told is Standing => Object.hasOwn(told, 'settled');

/** Of what nobody follows, no more is known. */
const endOf = async (told: Accepted): Promise<Settlement> => {
  const followed = Object.hasOwn(told, 'followed') ? told.followed : undefined;
  return followed === undefined ? ACCEPTED : ((await followed.ended) as Settlement);
};

/** Told once, and asked whenever: a promise is made for whoever asks, and for nobody else. */
export class EventFate implements LaterEnding {
  #told: Standing | Accepted | undefined;
  #asked: Promise<Standing> | undefined;
  #answer: ((standing: Standing) => void) | undefined;

  tell(told: Standing | Accepted): void {
    this.#told = told;
    this.#answer?.(standingOf(told));
  }

  /** Never rejects. */
  get standing(): Promise<Standing> {
    this.#asked ??= new Promise((resolve) => {
      if (this.#told !== undefined) resolve(standingOf(this.#told));
      else this.#answer = resolve;
    });
    return this.#asked;
  }

  async ending(): Promise<Settlement> {
    return (await this.standing).settled();
  }
}

/** Of what is known at once. */
export function fateOf(standing: Standing): EventFate {
  const fate = new EventFate();
  fate.tell(standing);
  return fate;
}

export const endingOf = (standing: Standing | Promise<Standing>): LaterEnding => ({
  ending: async () => (await standing).settled(),
});
