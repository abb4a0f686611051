/**
 * What an application has behind its cursor, as far as it is kept in mind: the first messages, without a gap, and
 * of those right behind them the sequences alone, by which they are read when these are claimed.
 */
import type { Message } from './envelope.ts';
import { type FreshRoom, MAX_FRESH } from './fresh-room.ts';
import { endsCall, type Looked } from './page.ts';
import { acceptedMsOf } from './row.ts';

/** Nothing behind was brought with a past, or nobody knows. */
const NONE_MS = Number.POSITIVE_INFINITY;
const UNKNOWN_MS = Number.NEGATIVE_INFINITY;

export class FreshMessages {
  readonly #room: FreshRoom;
  #messages: Message[] = [];
  #behind: number[] = [];
  /** Whether nothing lies behind these. */
  #isToldAll: boolean;
  /** Calls of which the last message has not come, by their ids: the first one of those that are kept. */
  #open = new Map<string, Message>();
  /** Those of which some messages are told by their sequences alone. */
  #openBehind = new Set<string>();
  /** Calls whose last message is stored, but not kept, while others of them are. */
  #ended = new Set<string>();
  #oldestBehindMs: number;

  constructor(room: FreshRoom, isWhole: boolean) {
    this.#room = room;
    this.#isToldAll = isWhole;
    this.#oldestBehindMs = isWhole ? NONE_MS : UNKNOWN_MS;
  }

  /** Ascending; another array whenever some of them go. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** Whether these are all. */
  get isWhole(): boolean {
    return this.#isToldAll && this.#behind.length === 0;
  }

  /** The first sequences behind the messages, `count` at most; none where they are too few and others may follow. */
  behind(count: number): readonly number[] {
    return this.#isToldAll || this.#behind.length >= count ? this.#behind.slice(0, count) : [];
  }

  /** Of so many that can be seen; what is not known may be any number. */
  waiting(visible: number): number {
    // Behind a call that is not wholly stored nothing can be seen.
    if (visible < this.#messages.length) return visible;
    return this.#isToldAll ? visible + this.#behind.length : Number.POSITIVE_INFINITY;
  }

  /**
   * Not after the oldest one behind the messages that was brought with a past was accepted. Those without one are no
   * older than those before them.
   */
  get oldestBehindMs(): number {
    return this.#oldestBehindMs;
  }

  /** As far as anybody looks for it, what is kept is known by now: what lies behind comes up once that is gone. */
  lookedFar(): void {
    if (this.#oldestBehindMs === UNKNOWN_MS) this.#oldestBehindMs = NONE_MS;
  }

  isEnded(call: string): boolean {
    return this.#ended.has(call);
  }

  /** Nothing that the row knows; whether it changes what can be seen. */
  came(message: Message): boolean {
    const last = this.#behind.at(-1) ?? this.#messages.at(-1)?.sequence ?? 0;
    if (message.sequence <= last) return false;
    if (this.isWhole) this.#room.make();
    // What was made may have been made by this one.
    if (!this.isWhole || this.#messages.length >= MAX_FRESH) return this.#cameBehind(message);
    this.#messages.push(message);
    this.#room.changed(1);
    this.#attend(message);
    return true;
  }

  /** It is not kept, and the call that it ends can be seen from now on. */
  #cameBehind(message: Message): boolean {
    if (this.#isToldAll) this.#tell(message.sequence);
    this.#attendPast(message);
    const call = message.batch?.id;
    if (call === undefined) return false;
    if (!endsCall(message)) {
      if (this.#isToldAll) this.#openBehind.add(call);
      return false;
    }
    this.#openBehind.delete(call);
    if (!this.#open.delete(call)) return false;
    this.#ended.add(call);
    return true;
  }

  #attendPast(message: Message): void {
    if (message.past === undefined) return;
    this.#oldestBehindMs = Math.min(this.#oldestBehindMs, acceptedMsOf(message));
  }

  #tell(sequence: number): void {
    const { length } = this.#behind;
    if (this.#room.behindOf(length + 1, length) === length) {
      this.#isToldAll = false;
      return;
    }
    this.#behind.push(sequence);
    this.#room.changedBehind(1);
  }

  #attend(message: Message): void {
    const { batch } = message;
    if (batch === undefined) return;
    if (endsCall(message)) this.#open.delete(batch.id);
    else if (!this.#open.has(batch.id) && !this.#ended.has(batch.id))
      this.#open.set(batch.id, message);
  }

  replace({ messages, isWhole, ended }: Looked): void {
    this.#room.changed(messages.length - this.#messages.length);
    this.#setBehind([]);
    this.#messages = [...messages];
    this.#isToldAll = isWhole;
    this.#oldestBehindMs = isWhole ? NONE_MS : UNKNOWN_MS;
    this.#ended = new Set(ended);
    this.#open = new Map();
    for (const message of messages) this.#attend(message);
  }

  /** Those of these sequences that are there still, as they were read; nothing where others were first meanwhile. */
  recall(sequences: readonly number[], found: readonly Message[]): void {
    const [first] = sequences;
    if (first === undefined || this.#behind[0] !== first) return;
    if (this.#behind[sequences.length - 1] !== sequences.at(-1)) return;
    for (const message of found) {
      const call = message.batch?.id ?? '';
      if (this.#openBehind.has(call) && !this.#open.has(call)) this.#open.set(call, message);
    }
    this.#messages = [...this.#messages, ...found];
    this.#room.changed(found.length);
    this.#setBehind(this.#behind.slice(sequences.length));
  }

  keep(isKept: (sequence: number) => boolean): void {
    const kept = this.#messages.filter(({ sequence }) => isKept(sequence));
    if (kept.length < this.#messages.length) this.#shrink(kept);
    const behind = this.#behind.filter(isKept);
    if (behind.length < this.#behind.length) this.#setBehind(behind);
  }

  keepOnly(count: number): void {
    const cut = this.#messages.slice(count);
    for (const message of cut) {
      const { batch } = message;
      if (batch !== undefined && this.#open.has(batch.id)) this.#openBehind.add(batch.id);
      this.#attendPast(message);
    }
    this.#shrink(this.#messages.slice(0, count));
    const behind = [...cut.map(({ sequence }) => sequence), ...this.#behind];
    const told = this.#room.behindOf(behind.length, this.#behind.length);
    if (told < behind.length) this.#isToldAll = false;
    this.#setBehind(behind.slice(0, told));
  }

  #setBehind(behind: number[]): void {
    this.#room.changedBehind(behind.length - this.#behind.length);
    this.#behind = behind;
    if (behind.length > 0) return;
    this.#openBehind = new Set();
    if (this.#isToldAll) this.#oldestBehindMs = NONE_MS;
  }

  /** A call that was open is so still, and one whose end was kept goes on without it. */
  #shrink(kept: Message[]): void {
    const open = new Map<string, Message>();
    const ended = new Set<string>();
    for (const message of kept) {
      const call = message.batch?.id;
      if (call === undefined) continue;
      if (this.#open.has(call) && !open.has(call)) open.set(call, message);
      if (this.#ended.has(call)) ended.add(call);
    }
    this.#open = open;
    this.#ended = ended;
    this.#room.changed(kept.length - this.#messages.length);
    this.#messages = kept;
  }

  /** How many can be seen: none from the first call on that is not wholly stored, and not older than this. */
  visible(oldestMs: number): number {
    let end = Number.POSITIVE_INFINITY;
    for (const { sequence, storedMs } of this.#open.values()) {
      if (storedMs > oldestMs) end = Math.min(end, sequence);
    }
    if (end === Number.POSITIVE_INFINITY) return this.#messages.length;
    return this.#messages.findIndex(({ sequence }) => sequence >= end);
  }
}
