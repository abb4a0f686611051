import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const ID_BYTES = 16;
/** Enough for 256 ids. */
const POOL_BYTES = 4096;

const FORM = '00000000-0000-0000-0000-000000000000';
const DIGITS = Buffer.from('0123456789abcdef');
/** Where the two digits of each byte begin. */
const DIGITS_AT = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/**
 * Makes UUIDs v7 whose order is that in which they were made, also within a millisecond.
 *
 * It draws its random bytes for many ids at once: the system is asked for them at each call, which, an
 * id at a time, took a sixth of what sending a message takes. And it writes the text of an id into
 * room that it keeps: uuid's own puts it together of twenty pieces, which took twice as long.
 */
export function createIdSource(now: () => number): () => string {
  const pool = new Uint8Array(POOL_BYTES);
  const words = new DataView(pool.buffer);
  const random = new Uint8Array(ID_BYTES);
  const bytes = new Uint8Array(ID_BYTES);
  const text = Buffer.from(FORM);
  let used = POOL_BYTES;
  let msecs = Number.NEGATIVE_INFINITY;
  let seq = 0;
  return () => {
    if (used === POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    // A fraction would pass for a new millisecond, of which an id has no bits: the order would be lost.
    const nowMs = Math.trunc(now());
    if (nowMs > msecs) {
      msecs = nowMs;
      // Half of the 32 bits, so that there are enough numbers behind it.
      seq = words.getUint32(used) >>> 1;
    } else {
      seq = (seq + 1) >>> 0;
      if (seq === 0) msecs += 1;
    }
    for (let at = 0; at < ID_BYTES; at += 1) random[at] = pool[used + at] as number;
    used += ID_BYTES;
    v7({ random, msecs, seq }, bytes);
    writeDigits(text, bytes);
    return text.toString('latin1');
  };
}

function writeDigits(text: Buffer, bytes: Uint8Array): void {
  for (let index = 0; index < ID_BYTES; index += 1) {
    const byte = bytes[index] as number;
    const at = DIGITS_AT[index] as number;
    text[at] = DIGITS[byte >> 4] as number;
    text[at + 1] = DIGITS[byte & 0xf] as number;
  }
}

/** A new UUID v7: unique, and sortable by when it was made. What it keeps decides nothing else. */
export const newId = createIdSource(() => Date.now());
