import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const ID_BYTES = 16;
/** Enough for 256 ids. */
const POOL_BYTES = 4096;

const FORM = '00000000-0000-0000-0000-000000000000';
const DIGITS = Buffer.from('0123456789abcdef');
/** Offset of the two digits of each byte. */
const DIGITS_AT = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/**
 * Creates a source of UUIDs v7 that sort in the order of their creation, also within a millisecond.
 *
 * It requests random bytes for many ids at once: one system call for each id took a sixth of the time of
 * sending a message. It writes the text into a reused buffer: uuid's own concatenation of twenty pieces
 * took twice as long.
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
    // A fraction would count as a new millisecond, but an id has no bits for it: the order would be lost.
    const nowMs = Math.trunc(now());
    if (nowMs > msecs) {
      msecs = nowMs;
      // Half of the range, so that enough numbers are left.
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

/** Returns a new UUID v7: unique, and sortable by time of creation. */
export const newId = createIdSource(() => Date.now());
