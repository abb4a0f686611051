/** Not all that is asked for at once: a server cuts the connection of whoever has 64 MiB of answers yet to take. */
import { Unanswered } from './jetstream-failure.ts';
import type { Patience } from './patience.ts';

/** Of each of the two streams whose messages may be large; rows and what is fed to the process come as well. */
const MAX_BYTES = 24 * 1024 * 1024;

/** Of an answer's headers and the protocol. */
const OVERHEAD = 512;

interface Waiting {
  readonly share: number;
  readonly enter: () => void;
}

export interface GateOptions {
  readonly clock: Pick<Patience['clock'], 'monotonicMs'>;
  readonly callTimeoutMs: number;
  /** As long as an answer may be: what one of unknown size counts for. */
  readonly largestBytes: number;
  readonly maxBytes?: number;
}

/** Of one stream; whoever waits comes in the order of asking. */
export class ReadGate {
  readonly #options: GateOptions;
  readonly #maxBytes: number;
  readonly #waiting: Waiting[] = [];
  #bytes = 0;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? MAX_BYTES;
  }

  /** `bytes`: of the answer, where that is known. Rejects with {@link Unanswered} who has waited as long as a call may. */
  async pass<T>(ask: () => Promise<T>, bytes = this.#options.largestBytes): Promise<T> {
    // What is larger than all that may be under way goes alone.
    const share = Math.min(this.#maxBytes, OVERHEAD + Math.ceil(bytes));
    const fits = this.#waiting.length === 0 && this.#bytes + share <= this.#maxBytes;
    const isInTime = fits || (await this.#turn(share));
    if (fits) this.#bytes += share;
    try {
      // Those before it had no answer: it would wait as long as they did, and so on.
      if (!isInTime) throw new Unanswered('no answer in time');
      return await ask();
    } finally {
      this.#bytes -= share;
      this.#admit();
    }
  }

  /** Its share counts then; whether it came as soon as a call may take. */
  async #turn(share: number): Promise<boolean> {
    const { clock, callTimeoutMs } = this.#options;
    const endsMs = clock.monotonicMs() + callTimeoutMs;
    await new Promise<void>((enter) => {
      this.#waiting.push({ share, enter });
    });
    return clock.monotonicMs() < endsMs;
  }

  #admit(): void {
    for (;;) {
      const first = this.#waiting[0];
      if (first === undefined || this.#bytes + first.share > this.#maxBytes) return;
      this.#waiting.shift();
      this.#bytes += first.share;
      first.enter();
    }
  }
}
