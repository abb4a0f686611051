/** Counts the events that the engine publishes on its diagnostics channels. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { EVENT_TABLE } from '../../src/delivery/events.ts';
import { CHANNEL_PREFIX } from '../../src/runtime/diagnostics.ts';
import type { World } from './world.ts';

/** Counts the events of the world's senders by name, and checks that none contains a secret or a URL. */
export class EventCounter {
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
    const isRedacted = !text.includes('secret-') && !text.includes('.example');
    this.#world.check(isRedacted, 'events', () => `${name} contains ${text}`);
  };
}
