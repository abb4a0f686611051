/** What an application has behind its cursor, as far as it is kept in mind: the first ones, without a gap. */
import type { Message } from './envelope.ts';
import { type FreshRoom, MAX_FRESH } from './fresh-room.ts';
import { endsCall, type Looked } from './page.ts';

export class FreshMessages {
  /** Whether these are all. */
  isWhole: boolean;
  #messages: Message[] = [];
  readonly #room: FreshRoom;
  /** Calls of which the last message has not come, by their ids: the first one of those that are kept. */
  #open = new Map<string, Message>();
  /** Calls whose last message is stored, but not kept. */
  #ended = new Set<string>();

  constructor(room: FreshRoom, isWhole: boolean) {
    this.#room = room;
    this.isWhole = isWhole;
  }

  /** Ascending; another array whenever some of them go. */
  get messages(): readonly Message[] {
    return this.#messages;
  }

  isEnded(call: string): boolean {
    return this.#ended.has(call);
  }

  /** Fresh and not in doubt; whether it changes what can be seen. */
  came(message: Message): boolean {
    if (message.sequence <= (this.#messages.at(-1)?.sequence ?? 0)) return false;
    if (this.isWhole) this.#room.make();
    // Made by this one perhaps.
    if (this.isWhole && this.#messages.length >= MAX_FRESH) this.isWhole = false;
    if (!this.isWhole) return this.#cameBehind(message);
    this.#messages.push(message);
    this.#room.changed(1);
    this.#attend(message);
    return true;
  }

  /** It is not kept, and the call that it ends can be seen from now on. */
  #cameBehind(message: Message): boolean {
    const call = message.batch?.id ?? '';
    if (!endsCall(message) || !this.#open.delete(call)) return false;
    this.#ended.add(call);
    return true;
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
    this.#messages = [...messages];
    this.isWhole = isWhole;
    this.#ended = new Set(ended);
    this.#open = new Map();
    for (const message of messages) this.#attend(message);
  }

  keep(isKept: (message: Message) => boolean): void {
    const kept = this.#messages.filter(isKept);
    if (kept.length < this.#messages.length) this.#shrink(kept);
  }

  keepOnly(count: number): void {
    this.#shrink(this.#messages.slice(0, count));
    this.isWhole = false;
  }

  /** A call that was open is so still, and one whose end was kept goes on without it. */
  #shrink(kept: Message[]): void {
    const open = new Map<string, Message>();
    for (const message of kept) {
      const call = message.batch?.id;
      if (call !== undefined && this.#open.has(call) && !open.has(call)) open.set(call, message);
    }
    this.#open = open;
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
