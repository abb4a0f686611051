/** Messages that are read before they are sent, so that a fault is seen while nothing was sent. */
import type { InputFault, InputItem, InputMessage } from './message-input.ts';

export interface ReadAheadBounds {
  readonly maxMessages: number;
  readonly maxBytes: number;
}

export class ReadAhead {
  readonly #items: AsyncIterator<InputItem>;
  readonly #bounds: ReadAheadBounds;
  #waiting: InputMessage[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #lastLine = 0;

  constructor(items: AsyncIterable<InputItem>, bounds: ReadAheadBounds) {
    this.#items = items[Symbol.asyncIterator]();
    this.#bounds = bounds;
  }

  /** Whether the input has been read to its end. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Where the last one that was read begins; 0 before the first. */
  get lastLine(): number {
    return this.#lastLine;
  }

  /** The next one to be taken, of those that are read. */
  get next(): InputMessage | undefined {
    return this.#waiting[0];
  }

  /** How many messages are read and not yet taken. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Reads up to the bounds or the end; gives the faults on the way. Rejects where the signal is aborted. */
  async fill(signal: AbortSignal): Promise<InputFault[]> {
    const faults: InputFault[] = [];
    const stop = rejection(signal);
    try {
      await this.#fill(faults, stop.rejected);
    } finally {
      stop.letGo();
    }
    return faults;
  }

  async #fill(faults: InputFault[], stopped: Promise<never>): Promise<void> {
    while (!this.#isOver && this.#hasRoom()) {
      // A person who types nothing more keeps the input waiting for ever.
      const { done, value } = await Promise.race([this.#items.next(), stopped]);
      if (done === true) {
        this.#isOver = true;
        return;
      }
      this.#lastLine = value.line;
      if (value.kind === 'fault') faults.push(value);
      else this.#keep(value);
      if (faults.length >= MAX_FAULTS) return;
    }
  }

  /** The next ones, in their order; none where all are taken. */
  take(count: number): readonly InputMessage[] {
    const taken = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    this.#waitingBytes -= bytesOf(taken);
    return taken;
  }

  /** Closes the input. Not waited for: one that is being read is closed when the next bytes come. */
  close(): void {
    this.#items.return?.().catch(() => undefined);
  }

  #hasRoom(): boolean {
    const { maxMessages, maxBytes } = this.#bounds;
    return this.#waiting.length < maxMessages && this.#waitingBytes < maxBytes;
  }

  #keep(message: InputMessage): void {
    this.#waiting.push(message);
    this.#waitingBytes += message.bytes;
  }
}

/** Somebody who gave another file than they meant has one in each line. */
const MAX_FAULTS = 100;

const bytesOf = (messages: readonly InputMessage[]): number =>
  messages.reduce((sum, { bytes }) => sum + bytes, 0);

interface Rejection {
  readonly rejected: Promise<never>;
  letGo(): void;
}

function rejection(signal: AbortSignal): Rejection {
  const letGo = new AbortController();
  const rejected = new Promise<never>((_resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { signal: letGo.signal });
  });
  // Nobody may be waiting when it comes.
  rejected.catch(() => undefined);
  return { rejected, letGo: () => letGo.abort() };
}
