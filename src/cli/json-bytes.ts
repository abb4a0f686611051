/** What bytes of JSON mean outside of strings, as far as it takes to tell values apart. */

export const OTHER = 0;
export const SPACE = 1;
export const END_OF_LINE = 2;
export const QUOTE = 3;
export const ESCAPE = 4;
export const OPEN = 5;
export const CLOSE = 6;
export const COMMA = 7;
export const COLON = 8;

export const LINE_FEED = 0x0a;
export const OPENING_SQUARE = 0x5b;

const MEANINGS: readonly (readonly [string, number])[] = [
  [' \t\r', SPACE],
  ['\n', END_OF_LINE],
  ['"', QUOTE],
  ['\\', ESCAPE],
  ['[{', OPEN],
  ['}]', CLOSE],
  [',', COMMA],
  [':', COLON],
];

function meaningTable(): Uint8Array {
  const table = new Uint8Array(256);
  for (const [characters, meaning] of MEANINGS) {
    for (const byte of Buffer.from(characters)) table[byte] = meaning;
  }
  return table;
}

/** By byte. */
export const MEANING_OF: Readonly<Uint8Array> = meaningTable();

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Takes a byte order mark off the beginning of a file, however its bytes come. */
export class ByteOrderMark {
  /** As long as they may be one. */
  #firstBytes: Buffer | undefined = Buffer.alloc(0);

  takeOff(chunk: Buffer): Buffer {
    if (this.#firstBytes === undefined) return chunk;
    const bytes = Buffer.concat([this.#firstBytes, chunk]);
    const first = bytes.subarray(0, BYTE_ORDER_MARK.length);
    const canBeMark = BYTE_ORDER_MARK.subarray(0, first.length).equals(first);
    const isKnown = !canBeMark || first.length === BYTE_ORDER_MARK.length;
    this.#firstBytes = isKnown ? undefined : bytes;
    return canBeMark ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
  }

  /** What was kept back, where the file ends within what might have been one. */
  rest(): Buffer {
    return this.#firstBytes ?? Buffer.alloc(0);
  }
}
