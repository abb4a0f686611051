/**
 * The row of an application as this process has it. A thousand messages of one are a few letters as they are
 * stored and some 90 kB read out: it is kept as its bytes, and read out for as long as there is room.
 */
import { knownOf, type Row } from './row.ts';
import { decodeRow } from './row-code.ts';
import { factsOf, type RowFacts } from './row-due.ts';
import { countOf } from './row-groups.ts';

/** What a row costs, in messages that it knows: of some 90 bytes each (measured). */
const ROW_PLACES = 10;

export class RowRoom {
  readonly #max: number;
  readonly #readOut = new Map<KnownRow, number>();
  #places = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** It is read out. Where that is too much all others are folded: those that are in use are read again. */
  take(row: KnownRow, places: number): void {
    this.give(row);
    if (this.#places + places > this.#max) {
      for (const other of this.#readOut.keys()) other.fold();
      this.#readOut.clear();
      this.#places = 0;
    }
    this.#readOut.set(row, places);
    this.#places += places;
  }

  give(row: KnownRow): void {
    this.#places -= this.#readOut.get(row) ?? 0;
    this.#readOut.delete(row);
  }
}

export class KnownRow {
  readonly #room: RowRoom;
  readonly #bytes: Uint8Array;
  #state: Row | undefined;
  #known: ReadonlySet<number> | undefined;
  readonly facts: RowFacts;
  readonly cursor: number;
  /** Of what the row knows the last one: what lies behind it is fresh. */
  readonly lastKnown: number;

  /** The bytes are copied: they may be a part of all that came with them. */
  constructor(room: RowRoom, state: Row, bytes: Uint8Array) {
    this.#room = room;
    this.#bytes = new Uint8Array(bytes);
    this.facts = factsOf(state);
    this.cursor = state.cursor;
    let lastKnown = 0;
    this.#known = knownOf(state);
    for (const sequence of this.#known) lastKnown = Math.max(lastKnown, sequence);
    this.lastKnown = lastKnown;
    this.#hold(state);
  }

  get bytes(): number {
    return this.#bytes.length;
  }

  get state(): Row {
    return this.#state ?? this.#hold(decodeRow(this.#bytes));
  }

  #hold(state: Row): Row {
    this.#state = state;
    this.#room.take(this, ROW_PLACES + sizeOf(state));
    return state;
  }

  /** Sequences that are fresh no more, wherever the cursor is. */
  knows(sequence: number): boolean {
    if (sequence > this.lastKnown) return false;
    this.#known ??= knownOf(this.state);
    return this.#known.has(sequence);
  }

  fold(): void {
    this.#state = undefined;
    this.#known = undefined;
  }

  /** Another one has taken its place. */
  end(): void {
    this.#room.give(this);
  }
}

/** In messages. */
const sizeOf = ({ touched, claim, dying, garbage, gone, deadGarbage, reviving }: Row): number =>
  [garbage, gone, deadGarbage, reviving].reduce((sum, { length }) => sum + length, 0) +
  [touched, claim?.groups ?? [], dying].reduce((sum, groups) => sum + countOf(groups), 0);
