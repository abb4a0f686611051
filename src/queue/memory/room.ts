import { SecurityEventError } from '../../errors.ts';

/** What may wait (D78). */
export interface RoomBounds {
  readonly maxPendingMessages: number;
  readonly maxPendingBytes: number;
}

/** How much waits, as the bounds count it: from its acceptance until it is settled or discarded. */
export class Room {
  readonly #bounds: RoomBounds;
  #messages = 0;
  #bytes = 0;

  constructor(bounds: RoomBounds) {
    this.#bounds = bounds;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Throws ERR_QUEUE_FULL where there is no room, and then takes none. */
  take(messages: number, bytes: number): void {
    const bound = this.#passed(messages, bytes);
    if (bound !== undefined) {
      const detail = `${messages} messages of ${bytes} bytes would pass ${bound} (${this.#bounds[bound]})`;
      throw new SecurityEventError('ERR_QUEUE_FULL', { detail, path: [bound] });
    }
    this.#messages += messages;
    this.#bytes += bytes;
  }

  /** What waits already, whatever the bounds. */
  hold(messages: number, bytes: number): void {
    this.#messages += messages;
    this.#bytes += bytes;
  }

  /** Whether there was room for a message. */
  takeOne(bytes: number): boolean {
    if (this.#passed(1, bytes) !== undefined) return false;
    this.#messages += 1;
    this.#bytes += bytes;
    return true;
  }

  give(bytes: number, messages = 1): void {
    this.#messages -= messages;
    this.#bytes -= bytes;
  }

  #passed(messages: number, bytes: number): keyof RoomBounds | undefined {
    if (this.#messages + messages > this.#bounds.maxPendingMessages) return 'maxPendingMessages';
    if (this.#bytes + bytes > this.#bounds.maxPendingBytes) return 'maxPendingBytes';
    return undefined;
  }
}
