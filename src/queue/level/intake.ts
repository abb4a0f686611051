/** What comes in: all of a call, or nothing of it (law 1). */
import { SecurityEventError } from '../../errors.ts';
import { type GiveWay, givingWay } from '../../system/giving-way.ts';
import { addSizes, SLICE_MESSAGES, slicesOf } from '../in-process/batch.ts';
import type { Moment, QueueClock } from '../in-process/moment.ts';
import type { Enqueued, QueueEntry } from '../queue.ts';
import type { LevelApplication } from './application.ts';
import { Change } from './change.ts';
import type { LevelContent } from './content.ts';
import type { LevelState } from './state.ts';
import { encodeContent } from './values.ts';

const NOTHING = Buffer.alloc(0);

export class Intake {
  readonly #state: LevelState;
  readonly #giveWay: GiveWay;
  readonly #entering = new Set<Promise<unknown>>();

  constructor(state: LevelState, clock: QueueClock) {
    this.#state = state;
    this.#giveWay = givingWay(clock);
  }

  async enter(entries: readonly QueueEntry[], at: Moment): Promise<Enqueued> {
    return await this.during(this.#enter(entries, at));
  }

  /** Something of which messages come in: see `entered`. */
  async during<T>(entering: Promise<T>): Promise<T> {
    this.#entering.add(entering);
    return await entering.finally(() => this.#entering.delete(entering));
  }

  /** Resolves when what was admitted by now is in the store, or was refused. */
  async entered(): Promise<void> {
    if (this.#entering.size > 0) await Promise.allSettled(this.#entering);
  }

  async #enter(entries: readonly QueueEntry[], at: Moment): Promise<Enqueued> {
    const { content } = this.#state;
    const isLarge = entries.length > SLICE_MESSAGES;
    const { open, closed } = this.#admit(entries);
    if (open.length === 0) return { closed };
    const values = await this.#encode(open, content);
    // In one go: sequences are given in the order in which the store is written.
    const change = new Change(content, isLarge ? this.#state.now() : at);
    const applications = new Set<LevelApplication>();
    this.#state.inOneGo(() => {
      for (const [index, entry] of open.entries()) {
        const application = content.ensure(entry.applicationId);
        applications.add(application);
        change.accept(application, entry, values[index] as Buffer);
      }
    });
    await this.#state.writeArrivals('enqueue', change, applications);
    return { closed };
  }

  /** In parts; where one cannot be, the room of all is free again. */
  async #encode(open: readonly QueueEntry[], { room }: LevelContent): Promise<Buffer[]> {
    const values: Buffer[] = [];
    try {
      for (const slice of slicesOf(open)) {
        if (open.length > SLICE_MESSAGES) await this.#giveWay();
        for (const entry of slice) values.push(encoded(entry));
      }
      return values;
    } catch (error) {
      for (const { sizeBytes } of open) room.give(sizeBytes);
      throw new SecurityEventError('ERR_QUEUE_FAILED', { cause: error });
    }
  }

  /** What is not of a closed application, for which room was taken. */
  #admit(entries: readonly QueueEntry[]) {
    const { content } = this.#state;
    const isRefused = ({ applicationId, past }: QueueEntry): boolean =>
      past?.death === undefined && content.find(applicationId)?.isClosed === true;
    const closed = new Set(entries.filter(isRefused).map(({ applicationId }) => applicationId));
    const open = closed.size === 0 ? entries : entries.filter((entry) => !isRefused(entry));
    const bytes = [...addSizes(new Map(), open).values()].reduce((sum, size) => sum + size, 0);
    content.room.take(open.length, bytes);
    return { open, closed: [...closed] };
  }
}

/** What comes from another queue is encoded with its past, and when it is accepted. */
function encoded({ applicationId, stored, origin, sizeBytes, past }: QueueEntry): Buffer {
  if (past !== undefined) return NOTHING;
  return encodeContent({ applicationId, stored, origin, sizeBytes, acceptedMs: 0, sends: 0 });
}
