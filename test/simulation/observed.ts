/** What the engine tells on its diagnostics channels, beside what was seen to happen. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { CHANNEL_PREFIX, EVENT_TABLE } from '../../src/delivery/events.ts';
import type { World } from './world.ts';

/** Events by name, of the world's senders. */
export class Observed {
  readonly counts = new Map<string, number>();
  readonly #world: World;
  readonly #senderIds = new Set<string>();
  readonly #channels = Object.keys(EVENT_TABLE).map((name) => CHANNEL_PREFIX + name);

  constructor(world: World) {
    this.#world = world;
    for (const channel of this.#channels) subscribe(channel, this.#listen);
  }

  add(senderId: string): void {
    this.#senderIds.add(senderId);
  }

  end(): void {
    for (const channel of this.#channels) unsubscribe(channel, this.#listen);
  }

  count(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  readonly #listen = (event: unknown, channel: string | symbol): void => {
    const { senderId } = event as { readonly senderId: string };
    if (!this.#senderIds.has(senderId)) return;
    const name = String(channel).slice(CHANNEL_PREFIX.length);
    this.counts.set(name, this.count(name) + 1);
    const text = JSON.stringify(event);
    const isSilent = !text.includes('secret-') && !text.includes('.example');
    this.#world.check(isSilent, 'events', () => `${name} tells ${text}`);
  };
}
