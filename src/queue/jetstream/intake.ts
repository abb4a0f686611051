/** What comes in: published all at once, seen together, and taken back where it cannot be whole. */
import { SecurityEventError } from '../../errors.ts';
import type { Enqueued, QueueEntry } from '../queue.ts';
import type { Bodies } from './bodies.ts';
import { type Batch, messageOf, sentOnceMore, toldOf } from './envelope.ts';
import type { FollowUps } from './follow-ups.ts';
import { isFull } from './jetstream-failure.ts';
import { withdrawn } from './row-ends.ts';
import type { Rows } from './rows.ts';
import type { Session } from './session.ts';
import type { View } from './view.ts';
import type { Work } from './work.ts';

/** Of headers and the protocol, beside a message's bytes. */
const HEADROOM = 4096;

/** What a call brings for one application. */
interface Part {
  readonly view: View;
  readonly entries: readonly QueueEntry[];
  /** Of those that are stored. */
  readonly sequences: number[];
}

export class Intake {
  readonly #session: Session;
  readonly #work: Work;
  readonly #rows: Rows;
  readonly #bodies: Bodies;
  readonly #followUps: FollowUps;
  #calls = 0;

  constructor(
    session: Session,
    work: Work,
    parts: { readonly rows: Rows; readonly bodies: Bodies; readonly followUps: FollowUps },
  ) {
    this.#session = session;
    this.#work = work;
    this.#rows = parts.rows;
    this.#bodies = parts.bodies;
    this.#followUps = parts.followUps;
  }

  async enqueue(entries: readonly QueueEntry[]): Promise<Enqueued> {
    for (const [index, { stored }] of entries.entries())
      this.#checkSize(index, stored.bytes.length);
    const parts = await this.#openParts(entries);
    const open = parts.filter(({ isClosed }) => !isClosed).map(({ part }) => part);
    await this.#publishAll(open);
    const late = await Promise.all(open.map((part) => this.#isTooLate(part)));
    const closed = parts.filter(({ isClosed }) => isClosed).map(({ part }) => part);
    closed.push(...open.filter((_, index) => late[index]));
    return { closed: closed.map(({ view }) => view.applicationId) };
  }

  /** Before anything is stored, and so not as a failure, after which some may be. */
  #checkSize(index: number, bytes: number): void {
    const { maxPayload } = this.#session;
    if (bytes + HEADROOM <= maxPayload) return;
    const detail = `a message of ${bytes} bytes is larger than the server's max_payload (${maxPayload}) allows`;
    throw new SecurityEventError('ERR_MESSAGE_TOO_LARGE', { detail, path: [index] });
  }

  async #openParts(
    entries: readonly QueueEntry[],
  ): Promise<{ readonly part: Part; readonly isClosed: boolean }[]> {
    const byApplication = new Map<string, QueueEntry[]>();
    for (const entry of entries) {
      const own = byApplication.get(entry.applicationId);
      if (own === undefined) byApplication.set(entry.applicationId, [entry]);
      else own.push(entry);
    }
    return await Promise.all(
      [...byApplication].map(async ([applicationId, own]) => {
        const view = this.#work.viewOf(applicationId);
        // Another process may have opened it since.
        if (view.row.tier === 'closed') await this.#rows.refresh(view);
        const isClosed = view.row.tier === 'closed';
        return { part: { view, entries: own, sequences: [] }, isClosed };
      }),
    );
  }

  /**
   * The last message of each application goes when all others are stored: what came in together is
   * seen from then on.
   */
  async #publishAll(parts: readonly Part[]): Promise<void> {
    this.#calls += 1;
    const call = `${this.#session.handle}.c${this.#calls}`;
    const sent = await Promise.allSettled(
      parts.flatMap((part) =>
        part.entries.slice(0, -1).map((_, index) => this.#publish(part, index, call)),
      ),
    );
    const lasts = sent.some(isRejected)
      ? []
      : await Promise.allSettled(
          parts.map((part) => this.#publish(part, part.entries.length - 1, call)),
        );
    const errors = [...sent, ...lasts].filter(isRejected).map(({ reason }) => reason as unknown);
    if (errors.length === 0) return;
    const withdrawals = await Promise.allSettled(parts.map((part) => this.#withdraw(part)));
    const areAllGone = withdrawals.every((one) => one.status === 'fulfilled' && one.value);
    throw this.#failureOf(errors, areAllGone);
  }

  /** Full, where nothing is left of the call: whoever hears that may send all of it again. */
  #failureOf([error, ...others]: readonly unknown[], areAllGone: boolean): unknown {
    if (!isFull(error)) return error;
    // What nobody answered for may be stored.
    const worse = others.find((other) => !isFull(other));
    if (worse !== undefined) return worse;
    if (areAllGone) return this.#full(error.message);
    const detail = 'there was no room for all of the messages, and some of them may be sent';
    return new SecurityEventError('ERR_QUEUE_FAILED', { detail, cause: error });
  }

  async #publish(part: Part, index: number, call: string): Promise<void> {
    const { store, names, time } = this.#session;
    const entry = part.entries[index] as QueueEntry;
    const count = part.entries.length;
    const batch: Batch | undefined = count === 1 ? undefined : { id: call, index, count };
    const { token } = part.view;
    const subject = names.message(entry.stored.format, token);
    const told = toldOf(entry, batch);
    const body = entry.stored.bytes;
    const messageId = `${call}.${token}.${index}`;
    const toldInDoubt = (): string => toldOf(sentOnceMore(entry), batch);
    const sequence = await store.publish({ subject, body, told, toldInDoubt, messageId });
    part.sequences.push(sequence);
    this.#work.brought(sequence);
    const storedMs = Math.floor(time.now());
    this.#bodies.keep({ ...messageOf({ sequence, subject, storedMs, told }), token, body });
  }

  #full(answer: string): SecurityEventError {
    const bound = answer.includes('bytes') ? 'maxPendingBytes' : 'maxPendingMessages';
    const detail = `the messages would pass ${bound} (${this.#session.bounds[bound]})`;
    return new SecurityEventError('ERR_QUEUE_FULL', { detail, path: [bound] });
  }

  /** Whether nothing of it is there any more: not where some of it is being sent already, or dead. */
  async #withdraw({ view, sequences }: Part): Promise<boolean> {
    if (sequences.length === 0) return true;
    const row = await this.#rows.change(view, (now) => withdrawn(now, sequences));
    if (row === undefined) return false;
    await this.#followUps.run(view);
    return true;
  }

  /** Whether it was closed before all of it was stored, and not taken in by who closed it. */
  async #isTooLate(part: Part): Promise<boolean> {
    // Where that fails it is stored all the same: who closes takes it in.
    await this.#rows.refresh(part.view).catch(() => {});
    return part.view.row.tier === 'closed' && (await this.#withdraw(part));
  }
}

const isRejected = (result: PromiseSettledResult<unknown>): result is PromiseRejectedResult =>
  result.status === 'rejected';
