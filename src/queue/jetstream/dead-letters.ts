/** Dead letters: a stream of their own, in the order of death, each with a subject of its own. */
import type { QueueEntry } from '../queue.ts';
import type { Bodies, Whole } from './bodies.ts';
import { sentOnceMore, toldOf } from './envelope.ts';
import { isFull } from './jetstream-failure.ts';
import { type Draft, type Letter, toldWithin } from './letter-code.ts';
import { LetterReads } from './letter-reads.ts';
import { tokenOf } from './names.ts';
import type { DyingGroup } from './row.ts';
import type { Session } from './session.ts';

/** So many are read, or written, at once. */
const AT_ONCE = 500;

/** Of headers and the protocol, beside what is told and a message's bytes. */
const HEADROOM = 512;

export class Letters {
  readonly #session: Session;
  readonly #bodies: Bodies;
  readonly #reads: LetterReads;
  /** In the stream of what waits: the last one that this process put there. */
  lastRevived = 0;

  constructor(session: Session, bodies: Bodies) {
    this.#session = session;
    this.#bodies = bodies;
    this.#reads = new LetterReads(session);
  }

  /** Each once, whoever does it: what is no longer in the work stream was published before. */
  async publish(token: string, dying: readonly DyingGroup[]): Promise<void> {
    const each = dying.flatMap(({ places, ...death }) =>
      places.map((place) => ({ ...death, ...place })),
    );
    for (let start = 0; start < each.length; start += AT_ONCE) {
      const part = each.slice(start, start + AT_ONCE);
      const found = await this.#bodies.reread(
        token,
        part.map(({ sequence }) => sequence),
      );
      const drafts = part.flatMap(({ sequence, sends, reason, end, diedMs, acceptedMs }) => {
        const message = found.get(sequence);
        if (message === undefined) return [];
        const death = { sends, reason, end, diedAt: diedMs, acceptedAt: acceptedMs };
        return [{ ...contentOf(message), ...death, token, name: `${sequence}` }];
      });
      await this.#store(drafts);
    }
  }

  /** What was dead in another queue. */
  async bring(entries: readonly QueueEntry[]): Promise<void> {
    const nowMs = Math.floor(this.#session.time.now());
    const drafts = entries.flatMap(({ applicationId, stored, origin, sizeBytes, past }) => {
      if (past?.death === undefined) return [];
      const { reason, end, diedAt = nowMs } = past.death;
      const times = { diedAt, acceptedAt: diedAt - past.ageMs };
      const death = { sends: past.sends, reason, end, ...times };
      const name = this.#session.newId();
      return [{ stored, origin, sizeBytes, ...death, token: tokenOf(applicationId), name }];
    });
    for (let start = 0; start < drafts.length; start += AT_ONCE) {
      await this.#store(drafts.slice(start, start + AT_ONCE));
    }
  }

  async #store(drafts: readonly Draft[]): Promise<void> {
    const { store, names, maxPayload } = this.#session;
    await Promise.all(
      drafts.map((draft) => {
        const { token, name } = draft;
        const body = draft.stored.bytes;
        const told = toldWithin(draft, maxPayload - body.length - HEADROOM);
        const subject = names.letter(token, name);
        // By its id it is not published again though it was purged meanwhile.
        return store.replace({
          subject,
          body,
          told,
          lastSequence: 0,
          messageId: `${token}.${name}`,
        });
      }),
    );
  }

  /** Those that are there still. */
  async read(sequences: readonly number[]): Promise<readonly Letter[]> {
    return await this.#reads.known(sequences);
  }

  /** They wait again, as many as there is room for. */
  async revive(letters: readonly Letter[]): Promise<void> {
    await Promise.all(letters.map((letter) => this.#revive(letter)));
  }

  async #revive({ token, sequence, shown }: Letter): Promise<void> {
    const { store, names } = this.#session;
    const { applicationId, stored, sizeBytes, sends } = shown;
    const past = { sends, ageMs: 0, dueInMs: 0, progress: null };
    // Its sender was told of its end.
    const origin = { senderId: '', number: 0 };
    const entry = { applicationId, stored, sizeBytes, origin, past };
    try {
      const at = await store.publish({
        subject: names.message(stored.format, token),
        body: stored.bytes,
        told: toldOf(entry),
        toldInDoubt: () => toldOf(sentOnceMore(entry)),
        messageId: `replay-${sequence}`,
      });
      this.lastRevived = Math.max(this.lastRevived, at);
    } catch (error) {
      if (isFull(error)) return;
      throw error;
    }
    await store.delete(names.dead, sequence);
  }
}

const contentOf = ({ body, messageId, format, dateAt, countAt, origin, sizeBytes }: Whole) => ({
  stored: { messageId, format, bytes: body, dateAt, countAt },
  origin,
  sizeBytes,
});
