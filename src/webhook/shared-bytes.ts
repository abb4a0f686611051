/**
 * The bytes of many texts in few Buffers. Of Node's own each holds some ten messages, and making one
 * costs as much as putting half of them in.
 */

/** Gives the UTF-8 bytes of a text. */
export type BytesOf = (text: string) => Buffer;

const CHUNK_BYTES = 65_536;

/** Of what may be larger too much would be left empty where a chunk ends. */
const MAX_SHARED_BYTES = CHUNK_BYTES / 4;

/** Fewer are not worth a chunk. */
const MIN_TEXTS = 16;

/** What UTF-8 has at most for a unit of UTF-16. */
const MAX_BYTES_PER_UNIT = 3;

/** For so many texts, which are let go together. */
export function sharedBytes(count: number): BytesOf {
  if (count < MIN_TEXTS) return (text) => Buffer.from(text);
  let chunk = Buffer.alloc(0);
  let end = 0;
  return (text) => {
    const most = text.length * MAX_BYTES_PER_UNIT;
    if (most > MAX_SHARED_BYTES) return Buffer.from(text);
    if (end + most > chunk.length) {
      chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      end = 0;
    }
    const start = end;
    end += chunk.write(text, start);
    return chunk.subarray(start, end);
  };
}
