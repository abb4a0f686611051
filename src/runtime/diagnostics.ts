/** Diagnostics events: published on `node:diagnostics_channel`, and printed if `NODE_DEBUG` asks for it. */
import { channel } from 'node:diagnostics_channel';
import { debuglog } from 'node:util';
import { lazyValue } from '../lazy-value.ts';
import { tryCall } from './host-calls.ts';

export const CHANNEL_PREFIX = 'security-event-delivery:';

/** `NODE_DEBUG=security-events` prints to standard error (D83). */
const debug = lazyValue(() => debuglog('security-events'));

/** Prints an event, if the host asks for it. Events hold no secret, no payload and no received text. */
export function debugEvent(name: string, event: object): void {
  debug()('%s %j', name, event);
}

/** Prints an error of the host's own code, if the host asks for it. Never throws. */
export function debugError(name: string, error: unknown): void {
  tryCall(() => debug()('%s %O', name, error));
}

/** The channel `security-event-delivery:<name>`. `Event` is what its subscribers get. */
export class DiagnosticsChannel<Event extends object> {
  readonly #name: string;
  readonly #channel;

  constructor(name: string) {
    this.#name = name;
    this.#channel = channel(CHANNEL_PREFIX + name);
  }

  /** Whether somebody gets the event. Avoids the cost of making it. */
  get isWanted(): boolean {
    return this.#channel.hasSubscribers || debug().enabled;
  }

  /** `explanation` is only printed. */
  publish(event: Event, explanation: object = {}): void {
    if (this.#channel.hasSubscribers) this.#channel.publish(event);
    if (debug().enabled) debugEvent(this.#name, { ...event, ...explanation });
  }
}
