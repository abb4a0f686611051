/** How many bytes of JSON there is still room for; what is taken stays within the bound exactly. */

/** The longest mark of what was left out, with its key, quotes, colon and comma. */
const MARK_BYTES = 64;
const BRACKETS = 2;

/** In JSON a character that is no control and no lone surrogate takes at most this, escaped or not. */
const MAX_BYTES_PER_UNIT = 3;
const QUOTES_AND_COMMA = 3;

export const jsonBytes = (value: string | number | boolean | null): number =>
  Buffer.byteLength(JSON.stringify(value));

export class ByteRoom {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  /** Takes all that is left. */
  fill(): void {
    this.#left = 0;
  }

  /** Room for an object or array, and for its mark: that one was cut must always fit. */
  open(): boolean {
    return this.take(BRACKETS + MARK_BYTES);
  }

  /** Gives back the room of a mark that was not needed. */
  close(isMarked: boolean): void {
    if (!isMarked) this.#left += MARK_BYTES;
  }

  /** How long a text may be that fits for sure, with a mark at its end; below 1 for none. */
  textLength(): number {
    return Math.floor((this.#left - QUOTES_AND_COMMA - MARK_BYTES) / MAX_BYTES_PER_UNIT);
  }
}
