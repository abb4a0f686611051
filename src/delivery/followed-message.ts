/** One message whose end somebody wants to know; most are only counted. */
export interface MessageEnd {
  /** `accepted`: it stays in a queue from which another process, or a later one, delivers. */
  readonly outcome: 'delivered' | 'dead' | 'discarded' | 'accepted';
  /** Why, of a message that is dead or discarded: a word of the dead or the discard reasons. */
  readonly reason?: string;
}

/** Told once, and asked whenever: a promise is made for whoever asks, and for nobody else. */
export class FollowedMessage {
  #end: MessageEnd | undefined;
  #ended: Promise<MessageEnd> | undefined;
  #tell: ((end: MessageEnd) => void) | undefined;

  tell(end: MessageEnd): void {
    this.#end = end;
    this.#tell?.(end);
  }

  get ended(): Promise<MessageEnd> {
    this.#ended ??= new Promise((resolve) => {
      if (this.#end !== undefined) resolve(this.#end);
      else this.#tell = resolve;
    });
    return this.#ended;
  }
}
