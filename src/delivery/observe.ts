/** Publishes the delivery engine's events, where anybody listens. */
import { channel } from 'node:diagnostics_channel';
import { CHANNEL_PREFIX, type DeliveryEventName, type DeliveryEvents } from './events.ts';

export type Observe = <Name extends DeliveryEventName>(
  name: Name,
  /** Called only where somebody listens. */
  event: () => DeliveryEvents[Name],
) => void;

/** `senderId` is added to every event. */
export function createObserver(senderId: string): Observe {
  const channels = new Map<DeliveryEventName, ReturnType<typeof channel>>();
  return (name, event) => {
    let target = channels.get(name);
    if (target === undefined) {
      target = channel(CHANNEL_PREFIX + name);
      channels.set(name, target);
    }
    if (target.hasSubscribers) target.publish({ senderId, ...event() });
  };
}
