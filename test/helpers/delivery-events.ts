/** The events that senders publish on diagnostics channels. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type DeliveryEventName, EVENT_TABLE } from '../../src/delivery/events.ts';
import { CHANNEL_PREFIX } from '../../src/runtime/diagnostics.ts';

export type EventFields = Readonly<Record<string, unknown>>;

/** Calls `listen` with each event. Returns a function that ends this. */
export function onDeliveryEvent(
  listen: (name: DeliveryEventName, event: EventFields) => void,
): () => void {
  const names = Object.keys(EVENT_TABLE) as DeliveryEventName[];
  const ends = names.map((name) => {
    const listener = (event: unknown): void => listen(name, event as EventFields);
    subscribe(CHANNEL_PREFIX + name, listener);
    return () => unsubscribe(CHANNEL_PREFIX + name, listener);
  });
  return () => {
    for (const end of ends) end();
  };
}
