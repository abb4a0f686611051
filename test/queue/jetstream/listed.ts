/** What an application has waiting, as a plain list beside what is kept of it in mind. */
import { type Message, toldOf } from '../../../src/queue/jetstream/envelope.ts';
import { FreshMessages } from '../../../src/queue/jetstream/fresh-messages.ts';
import type { FreshRoom, Keeper } from '../../../src/queue/jetstream/fresh-room.ts';
import { Page } from '../../../src/queue/jetstream/page.ts';
import { messageAt } from './message-at.ts';

export const BOUNDS = { kept: 9, all: 7, each: 4 };

export const keeperOf = (fresh: FreshMessages): Keeper => ({
  kept: fresh.messages.length,
  isBusy: false,
  keepOnly: (count) => fresh.keepOnly(count),
});

export class Listed {
  readonly fresh: FreshMessages;
  #all: Message[] = [];
  readonly #open: { readonly id: string; readonly count: number; stored: number }[] = [];

  constructor(room: FreshRoom) {
    this.fresh = new FreshMessages(room, true);
  }

  #come(message: Message): void {
    this.#all.push(message);
    this.fresh.came(message);
  }

  alone(sequence: number): void {
    this.#come(messageAt(sequence));
  }

  begin(sequence: number, count: number): void {
    const id = `call-${sequence}`;
    this.#open.push({ id, count, stored: 1 });
    this.#come(messageAt(sequence, [id, 0, count]));
  }

  goOn(sequence: number, which: number): void {
    const call = this.#open[which % this.#open.length];
    if (call === undefined) return;
    this.#come(messageAt(sequence, [call.id, call.stored, call.count]));
    call.stored += 1;
    if (call.stored === call.count) this.#open.splice(this.#open.indexOf(call), 1);
  }

  deliver(count: number): void {
    const visible = this.fresh.messages.slice(0, this.fresh.visible(0));
    const gone = new Set(visible.slice(0, count).map(({ sequence }) => sequence));
    this.#all = this.#all.filter(({ sequence }) => !gone.has(sequence));
    this.fresh.keep((sequence) => !gone.has(sequence));
  }

  recall(count: number): void {
    const sequences = this.fresh.behind(count).slice(0, 3);
    const found = this.#all.filter(({ sequence }) => sequences.includes(sequence));
    this.fresh.recall(sequences, found);
  }

  read(limit: number): void {
    const isEnded = (call: string): boolean => this.fresh.isEnded(call);
    const page = new Page({ limit, nowMs: 1001, isFresh: () => true, isEnded });
    for (const message of this.#all) {
      const { sequence, batch, messageId, origin } = message;
      const stored = { messageId, format: 2, bytes: '', dateAt: -1, countAt: -1 } as const;
      const told = toldOf({ applicationId: 'one', stored, sizeBytes: 1, origin } as never, batch);
      const kept = { sequence, subject: 'p.m.2.one', storedMs: 1000, told, body: Buffer.alloc(0) };
      if (!page.take(kept)) break;
    }
    this.fresh.replace(page);
  }

  get behind(): readonly number[] {
    for (let count = 2 * BOUNDS.all; count > 0; count -= 1) {
      const behind = this.fresh.behind(count);
      if (behind.length > 0) return behind;
    }
    return [];
  }

  /** Of what is kept and told. */
  get sequences(): readonly number[] {
    return [...this.fresh.messages.map(({ sequence }) => sequence), ...this.behind];
  }

  get waiting(): readonly number[] {
    return this.#all.map(({ sequence }) => sequence);
  }

  /** How many lie before the first call that is not wholly stored. */
  get visible(): number {
    const isOpen = ({ batch }: Message) => this.#open.some(({ id }) => id === batch?.id);
    const first = this.#all.findIndex(isOpen);
    return first === -1 ? this.#all.length : first;
  }
}
