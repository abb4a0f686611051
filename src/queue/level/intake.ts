/** What comes in: all of a call, or nothing of it (law 1). */
import { SecurityEventError } from '../../errors.ts';
import { type GiveWay, givingWay } from '../../system/giving-way.ts';
import { SLICE_MESSAGES, slicesOf } from '../in-process/batch.ts';
import type { Moment, QueueClock } from '../in-process/moment.ts';
import { Change } from './change.ts';
import type { LevelContent } from './content.ts';
import type { Enqueued, QueueEntry } from './old-contract.ts';
import { addTo, admit, NO_SHARE, type Place, type Share } from './share.ts';
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

  enter(entries: readonly QueueEntry[], at: Moment): Promise<Enqueued> {
    return this.during(this.#enter(entries, at));
  }

  /** Something of which messages come in: see `entered`. */
  during<T>(entering: Promise<T>): Promise<T> {
    const isOver = (): void => void this.#entering.delete(entering);
    this.#entering.add(entering);
    entering.then(isOver, isOver);
    return entering;
  }

  /** Resolves when what was admitted by now is in the store, or was refused. */
  async entered(): Promise<void> {
    if (this.#entering.size > 0) await Promise.allSettled(this.#entering);
  }

  async #enter(entries: readonly QueueEntry[], at: Moment): Promise<Enqueued> {
    const { content } = this.#state;
    const isLarge = entries.length > SLICE_MESSAGES;
    const { open, closed, shares } = this.#admit(entries);
    if (open.length === 0) return { closed };
    const values = await this.#encode(open, content);
    const change = new Change(content, isLarge ? this.#state.now() : at);
    const places = new Map<string, Place>();
    const accept = (entry: QueueEntry, index: number): void => {
      const place = places.get(entry.applicationId) as Place;
      change.accept(place, entry, values[index] as Buffer);
    };
    this.#state.apply(change, () => {
      for (const [id, share] of shares)
        if (share.count > 0) places.set(id, admit(change, id, share));
      if (!isLarge) for (const [index, entry] of open.entries()) accept(entry, index);
    });
    if (isLarge) change.make = () => this.#state.inParts(open, accept);
    const applications = new Set(Array.from(places.values(), ({ application }) => application));
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
    const shares = new Map<string, Share>();
    const closed = new Set<string>();
    for (const entry of entries) {
      const { applicationId, past } = entry;
      const share = shares.get(applicationId) ?? { ...NO_SHARE };
      if (share.count === 0) shares.set(applicationId, share);
      const isLate = past?.death === undefined && content.find(applicationId)?.isClosed === true;
      if (isLate) closed.add(applicationId);
      else addTo(share, entry);
    }
    const isOpen = ({ applicationId, past }: QueueEntry): boolean =>
      past?.death !== undefined || !closed.has(applicationId);
    const open = closed.size === 0 ? entries : entries.filter(isOpen);
    const bytes = [...shares.values()].reduce((sum, share) => sum + share.bytes, 0);
    content.room.take(open.length, bytes);
    return { open, closed: [...closed], shares };
  }
}

/** What comes from another queue is encoded with its past, and when it is accepted. */
function encoded({ applicationId, stored, origin, sizeBytes, past }: QueueEntry): Buffer {
  if (past !== undefined) return NOTHING;
  return encodeContent({ applicationId, stored, origin, sizeBytes, acceptedMs: 0, sends: 0 });
}
