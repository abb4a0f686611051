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

/** In their order, and not many too many where the queue is full; each as long as a message may be. */
const REVIVED_AT_ONCE = 32;

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
    if (hasFollowUp(rowNow(view))) await this.run(view);
    else if (isTried(view.state)) await this.#tell(view);
  }

  /**
   * Of the row as it is known. What was removed need not be written at once, what was published is:
   * the engine knows for a minute only that it need not be published again.
   */
  async run(view: View): Promise<void> {
    const { letters } = this.#parts;
    const state = rowNow(view);
    const followUp = followUpOf(state);
    if (followUp === undefined) return;
    const { dying, reviving, garbage, deadGarbage } = followUp;
    try {
      await letters.publish(view.token, dying);
      await this.#revive(view, reviving);
    } catch (error) {
      // What is over must not wait for it: a row may not grow without end.
      await this.#removeEach(garbage);
      await this.#removeLetters(deadGarbage);
      const isSome = garbage.length + deadGarbage.length > 0;
      if (isSome) view.done = [...view.done, { ...followUp, dying: [], reviving: [] }];
      throw error;
    }
    await this.#remove(view, state, followUp);
    view.done = [...view.done, followUp];
    if (isTried(followUp)) await this.#tell(view);
  }

  /** What was done of it, until it is written: else nobody knows that it need not be tried again. */
  async #tell(view: View): Promise<void> {
    await this.#parts.rows.change(view, (row) => (view.done.length > 0 ? { ...row } : row));
  }

  /**
   * Each as long as the row names it: another process may have found no room for it since, and given it up. Once that is
   * known the rest takes as long as a publication: held up there, it may send what another one has purged by then.
   */
  async #revive(view: View, sequences: readonly number[]): Promise<void> {
    const { letters, rows } = this.#parts;
    for (let start = 0; start < sequences.length; start += REVIVED_AT_ONCE) {
      const found = await letters.read(sequences.slice(start, start + REVIVED_AT_ONCE));
      if (found.length === 0) continue;
      await rows.refresh(view);
      const named = new Set(view.state.reviving);
      await letters.revive(found.filter(({ sequence }) => named.has(sequence)));
    }
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
    await this.#removeLetters(deadGarbage);
  }

  async #removeLetters(sequences: readonly number[]): Promise<void> {
    const { store, names } = this.#session;
    await Promise.all(sequences.map((sequence) => store.delete(names.dead, sequence)));
  }

  async #removeEach(sequences: readonly number[]): Promise<void> {
    const { store, names } = this.#session;
    for (const sequence of sequences) this.#parts.bodies.forget(sequence);
    await Promise.all(sequences.map((sequence) => store.delete(names.messages, sequence)));
  }
}

/** With what was done of it, and is not written yet. */
export const rowNow = (view: View): Row => view.done.reduce(done, view.state);

/** Whether it names what was, or is, to be published. */
const isTried = ({ dying, reviving }: Pick<FollowUp, 'dying' | 'reviving'>): boolean =>
  dying.length + reviving.length > 0;

/** The last sequence up to which all of the application is over: what was not claimed lies behind the cursor. */
function purgeableTo({ cursor, touched, claim }: Row, over: readonly number[]): number {
  let end = Math.min(cursor, Math.max(0, ...over));
  for (const { place } of waitingIn([...touched, ...(claim?.groups ?? [])])) {
    end = Math.min(end, place.sequence - 1);
  }
  return end;
}
