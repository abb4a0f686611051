/** Publishes the sender's events, where anybody listens. */
import { channel } from 'node:diagnostics_channel';
import { debuglog } from 'node:util';
import { once } from '../once.ts';
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
    if (debug().enabled) debugEvent(name, { senderId, ...event() });
  };
}

/** `NODE_DEBUG=security-events` prints to standard error (D83). */
const debug = once(() => debuglog('security-events'));

/** Prints an event, if the host asks for it. Events hold no secret, no payload and no received text. */
export function debugEvent(name: string, event: object): void {
  debug()('%s %j', name, event);
}
