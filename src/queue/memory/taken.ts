import type { ClaimedMessage, Format, SequenceRange } from '../queue.ts';
import type { Run } from './run.ts';
import { claimedMessages, type WaitingMessage } from './waiting-message.ts';

/** Messages of a run that follow one another. A class: a polluted prototype must not make a message look like one. */
class RunPart {
  readonly run: Run;
  readonly start: number;
  readonly end: number;

  constructor(run: Run, start: number, end: number) {
    this.run = run;
    this.start = start;
    this.end = end;
  }
}

export interface ClaimLimits {
  readonly maxMessages: number;
  readonly maxBytes: number;
}

/** Gives the stricter of the limits of an application and of a request. */
export const within = (state: ClaimLimits, request: ClaimLimits): ClaimLimits => ({
  maxMessages: Math.min(state.maxMessages, request.maxMessages),
  maxBytes: Math.min(state.maxBytes, request.maxBytes),
});

const isAlone = (piece: WaitingMessage | RunPart): piece is WaitingMessage =>
  !(piece instanceof RunPart);

/**
 * What a claim has taken out of what waits, in order. Its messages are sent as far as this goes: their `sends`
 * are raised (law 2). Of a run it holds which part: most of that is delivered, and never is anything else.
 */
export class Taken {
  readonly #pieces: (WaitingMessage | RunPart)[] = [];
  #size = 0;
  #sizeBytes = 0;

  /** The same for all; of nothing there is none. */
  get format(): Format {
    const first = this.#pieces[0] as WaitingMessage | RunPart;
    return isAlone(first) ? first.format : first.run.format;
  }

  get size(): number {
    return this.#size;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  add(message: WaitingMessage): void {
    message.sends += 1;
    this.#add(message, 1, message.sizeBytes);
  }

  /** Of a run the message at `start`, and what follows it as far as all is within the limits; how many these are. */
  addOf(run: Run, start: number, { maxMessages, maxBytes }: ClaimLimits): number {
    let end = start + 1;
    let sizeBytes = run.sizeBytesAt(start);
    const last = Math.min(run.size, start + maxMessages - this.#size);
    while (end < last) {
      const next = sizeBytes + run.sizeBytesAt(end);
      if (this.#sizeBytes + next > maxBytes) break;
      sizeBytes = next;
      end += 1;
    }
    this.#add(new RunPart(run, start, end), end - start, sizeBytes);
    return end - start;
  }

  #add(piece: WaitingMessage | RunPart, count: number, sizeBytes: number): void {
    this.#pieces.push(piece);
    this.#size += count;
    this.#sizeBytes += sizeBytes;
  }

  /** Calls `see` with the sequences of each piece. */
  eachRange(see: (range: SequenceRange) => void): void {
    for (const piece of this.#pieces) {
      if (isAlone(piece)) see({ from: piece.sequence, to: piece.sequence });
      else {
        const { sequence } = piece.run;
        see({ from: sequence + piece.start, to: sequence + piece.end - 1 });
      }
    }
  }

  /** As the claim shows them. */
  claimed(nowMs: number): ClaimedMessage[] {
    const alone = claimedMessages(this.#pieces.filter(isAlone), nowMs);
    let shown = 0;
    const claimed: ClaimedMessage[] = [];
    for (const piece of this.#pieces) {
      if (isAlone(piece)) {
        claimed.push(alone[shown] as ClaimedMessage);
        shown += 1;
      } else {
        const { run, start, end } = piece;
        for (let index = start; index < end; index += 1) claimed.push(run.claimedAt(index, nowMs));
      }
    }
    return claimed;
  }

  /** Each for itself, for what is not delivered. Those of runs are made anew at each call. */
  messages(): WaitingMessage[] {
    return this.#pieces.flatMap((piece) => {
      if (isAlone(piece)) return [piece];
      const { run, start, end } = piece;
      return Array.from({ length: end - start }, (_, index) => {
        const message = run.messageAt(start + index);
        message.sends += 1;
        return message;
      });
    });
  }
}
