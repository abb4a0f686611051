/** What a written row leaves to do: anyone may, and do it twice. */
import type { Bodies } from './bodies.ts';
import type { Letters } from './dead-letters.ts';
import { hasFollowUp, type Row } from './row.ts';
import { done, type FollowUp, followUpOf } from './row-ends.ts';
import { waitingIn } from './row-groups.ts';
import type { Rows } from './rows.ts';
import type { Session } from './session.ts';
import type { View } from './view.ts';

/** From so many on it is worth a purge, which looks through a part of the stream. */
const WORTH_A_PURGE = 8;

export interface Parts {
  readonly letters: Letters;
  readonly bodies: Bodies;
  readonly rows: Rows;
}

export class FollowUps {
  readonly #session: Session;
  readonly #parts: Parts;

  constructor(session: Session, parts: Parts) {
    this.#session = session;
    this.#parts = parts;
  }

  /** Where something is left: whoever wrote it may have ended. */
  async finish(view: View): Promise<void> {
    if (hasFollowUp(view.done.reduce(done, view.state))) await this.run(view);
  }

  /**
   * Of the row as it is known. What was removed need not be written at once, what was published is:
   * the engine knows for a minute only that it need not be published again.
   */
  async run(view: View): Promise<void> {
    const { letters, rows } = this.#parts;
    const { state } = view;
    const followUp = followUpOf(state);
    if (followUp === undefined) return;
    const { dying, reviving, garbage } = followUp;
    try {
      await letters.publish(view.token, dying);
      await letters.revive(reviving);
    } catch (error) {
      // What is over must not wait for it: a row may not grow without end.
      await this.#removeEach(garbage);
      view.done = [...view.done, { garbage, dying: [], deadGarbage: [], reviving: [] }];
      throw error;
    }
    await this.#remove(view, state, followUp);
    view.done = [...view.done, followUp];
    if (dying.length + reviving.length === 0) return;
    const { state: latest, revision } = view;
    await rows.write(view, latest, revision);
  }

  async #remove(view: View, state: Row, { garbage, dying, deadGarbage }: FollowUp): Promise<void> {
    const { store, names } = this.#session;
    const over = [
      ...garbage,
      ...dying.flatMap(({ places }) => places.map(({ sequence }) => sequence)),
    ];
    const end = purgeableTo(state, over);
    const atOnce = over.filter((sequence) => sequence <= end);
    const isWorthIt = atOnce.length >= WORTH_A_PURGE;
    const subject = names.messagesOf(view.token);
    const purged = isWorthIt ? await store.purge(names.messages, subject, end + 1) : 0;
    for (const sequence of atOnce) this.#parts.bodies.forget(sequence);
    // Where it purged fewer, somebody else had removed some, or it overlooked them.
    const isPurged = isWorthIt && purged >= atOnce.length;
    await this.#removeEach(isPurged ? over.filter((one) => one > end) : over);
    await Promise.all(deadGarbage.map((sequence) => store.delete(names.dead, sequence)));
  }

  async #removeEach(sequences: readonly number[]): Promise<void> {
    const { store, names } = this.#session;
    for (const sequence of sequences) this.#parts.bodies.forget(sequence);
    await Promise.all(sequences.map((sequence) => store.delete(names.messages, sequence)));
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
