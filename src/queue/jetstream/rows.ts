/** The applications' rows, each written by compare-and-set. */
import { SecurityEventError } from '../../errors.ts';
import { Busy } from './jetstream-failure.ts';
import type { Row } from './row.ts';
import { encodeRow } from './row-code.ts';
import { done } from './row-ends.ts';
import { lapse } from './row-settle.ts';
import type { Session } from './session.ts';
import type { View } from './view.ts';
import type { Work } from './work.ts';

/** So many times a change is tried anew because another process was quicker. */
export const MAX_TRIES = 50;

/** Of headers and the protocol, beside a row's bytes. */
const HEADROOM = 1024;

export const rowBusy = (): Busy => new Busy('the row of an application changes all the time');

export class Rows {
  readonly #session: Session;
  readonly #work: Work;
  #writes = 0;

  constructor(session: Session, work: Work) {
    this.#session = session;
    this.#work = work;
  }

  /** As the leader has it. */
  async refresh(view: View): Promise<void> {
    const { store, names } = this.#session;
    const kept = await store.last(names.rows, names.row(view.token));
    if (kept === undefined) return;
    this.#work.rowCame(view, kept);
    if (view.unreadable !== undefined) throw view.unreadable;
  }

  /** The row now, without a lease that is over. */
  current(view: View): Row {
    return lapse(view.state, this.#session.time.now());
  }

  /**
   * Writes what was made of the row of a revision, which may be older than what is known by now.
   * Whether it was written: not where another process was quicker, whose row is known then.
   */
  async write(view: View, row: Row, lastSequence: number): Promise<boolean> {
    const { store, names, handle } = this.#session;
    const { done: followUps } = view;
    const next = followUps.reduce(done, row);
    const body = encodeRow(next);
    this.#checkSize(body.length);
    this.#writes += 1;
    const revision = await store.replace({
      subject: names.row(view.token),
      body,
      lastSequence,
      messageId: `${handle}.${this.#writes}`,
    });
    if (revision === undefined) {
      await this.refresh(view);
      return false;
    }
    view.done = view.done.filter((followUp) => !followUps.includes(followUp));
    view.written(next, revision, body);
    this.#work.place(view);
    return true;
  }

  #checkSize(bytes: number): void {
    const { maxPayload } = this.#session;
    if (bytes + HEADROOM <= maxPayload) return;
    const detail = `what is known of an application takes ${bytes} bytes, more than the server's max_payload (${maxPayload}) allows`;
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }

  /**
   * Applies `change` to the row as it is and writes what it gives. `undefined`: there is nothing to
   * write, which is believed only of the row as the leader has it.
   */
  async change(
    view: View,
    change: (row: Row) => Row | undefined | Promise<Row | undefined>,
  ): Promise<Row | undefined> {
    let isFresh = false;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { state, revision } = view;
      const after = await change(this.current(view));
      if (after === undefined) {
        if (isFresh) return undefined;
        await this.refresh(view);
        isFresh = true;
        continue;
      }
      if (after === state) return after;
      if (await this.write(view, after, revision)) return after;
      isFresh = true;
    }
    throw rowBusy();
  }
}
