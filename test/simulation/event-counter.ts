/** Counts the events that the engine publishes on its diagnostics channels. */
import type { DeliveryEventName } from '../../src/delivery/events.ts';
import { onDeliveryEvent } from '../helpers/delivery-events.ts';
import type { World } from './world.ts';

/** Counts the events of the world's senders by name, and checks that none contains a secret or a URL. */
export class EventCounter {
  readonly #counts = new Map<DeliveryEventName, number>();
  readonly #senderIds = new Set<unknown>();
  readonly end: () => void;

  constructor(world: World) {
    this.end = onDeliveryEvent((name, event) => {
      if (!this.#senderIds.has(event['senderId'])) return;
      this.#counts.set(name, this.count(name) + 1);
      const text = JSON.stringify(event);
      const isRedacted = !text.includes('secret-') && !text.includes('.example');
      world.check(isRedacted, 'events', () => `${name} contains ${text}`);
    });
  }

  add(senderId: string): void {
    this.#senderIds.add(senderId);
  }

  count(name: DeliveryEventName): number {
    return this.#counts.get(name) ?? 0;
  }
}
