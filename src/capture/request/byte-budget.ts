/** A budget of bytes for JSON, which is never exceeded. */

/** Length of the longest truncation mark, with its key, quotes, colon and comma. */
const MARK_BYTES = 64;
const BRACKETS = 2;

/** Maximum bytes of a UTF-16 code unit in JSON, without the characters that `cleanText` replaces. */
const MAX_BYTES_PER_UNIT = 3;
const QUOTES_AND_COMMA = 3;

export const jsonBytes = (value: string | number | boolean | null): number =>
  Buffer.byteLength(JSON.stringify(value));

export class ByteBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Returns false, and takes nothing, if fewer bytes are left. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  exhaust(): void {
    this.#left = 0;
  }

  /** Takes the brackets of an object or array, and reserves its truncation mark. */
  open(): boolean {
    return this.take(BRACKETS + MARK_BYTES);
  }

  /** Gives the reserved bytes of the mark back, unless the object or array got its mark. */
  close(isMarked: boolean): void {
    if (!isMarked) this.#left += MARK_BYTES;
  }

  /** Returns a length of text that always fits, with a mark; below 1 if not even one character does. */
  textLength(): number {
    return Math.floor((this.#left - QUOTES_AND_COMMA - MARK_BYTES) / MAX_BYTES_PER_UNIT);
  }
}
