/** What a written row leaves to do: anyone may, and do it twice. */
import type { Bodies } from './bodies.ts';
import type { Letters } from './dead-letters.ts';
import type { Row } from './row.ts';
import { type FollowUp, followUpOf } from './row-ends.ts';
import { waitingIn } from './row-groups.ts';
import type { Session } from './session.ts';
import type { View } from './view.ts';

/** From so many on it is worth a purge, which looks through a part of the stream. */
const WORTH_A_PURGE = 8;

export class FollowUps {
  readonly #session: Session;
  readonly #letters: Letters;
  readonly #bodies: Bodies;

  constructor(session: Session, letters: Letters, bodies: Bodies) {
    this.#session = session;
    this.#letters = letters;
    this.#bodies = bodies;
  }

  /** Of the row as it is known; what is done need not be written at once. */
  async run(view: View): Promise<void> {
    const { state } = view;
    const followUp = followUpOf(state);
    if (followUp === undefined) return;
    const { store, names } = this.#session;
    await this.#letters.publish(view.token, followUp.dying);
    await this.#letters.revive(followUp.reviving);
    await Promise.all([
      this.#remove(view, state, followUp),
      ...followUp.deadGarbage.map((sequence) => store.delete(names.dead, sequence)),
    ]);
    view.done = [...view.done, followUp];
  }

  async #remove(view: View, state: Row, { garbage, dying }: FollowUp): Promise<void> {
    const { store, names } = this.#session;
    const over = [
      ...garbage,
      ...dying.flatMap(({ places }) => places.map(({ sequence }) => sequence)),
    ];
    for (const sequence of over) this.#bodies.forget(sequence);
    const end = purgeableTo(state, over);
    const atOnce = over.filter((sequence) => sequence <= end);
    const single = atOnce.length < WORTH_A_PURGE ? over : over.filter((one) => one > end);
    if (atOnce.length >= WORTH_A_PURGE) {
      await store.purge(names.messages, names.messagesOf(view.token), end + 1);
    }
    await Promise.all(single.map((sequence) => store.delete(names.messages, sequence)));
  }
}

/** The last sequence up to which all of the application is over: what was not claimed lies behind the cursor. */
function purgeableTo({ cursor, touched, claim }: Row, over: readonly number[]): number {
  let end = Math.min(cursor, Math.max(0, ...over));
  for (const { place } of waitingIn([...touched, ...(claim?.groups ?? [])])) {
    end = Math.min(end, place.sequence - 1);
  }
  return end;
}
