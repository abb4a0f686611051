/** What the store has packed, unpacked without it. */
import { BytesReader } from './bytes-reader.ts';

/** No block is nearly as large; of one that says so, its length is damaged. */
const MAX_BYTES = 2 ** 28;

/** As far as it can be read: what is behind is zeros. */
export function unpack(packed: Buffer): Buffer {
  const reader = new BytesReader(packed);
  const length = reader.varint();
  if (length > MAX_BYTES) throw new RangeError('too long');
  const all = Buffer.alloc(length);
  try {
    for (let end = 0; end < length && !reader.isOver; ) end = step(reader, all, end);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return all;
}

/** Appends a text, or repeats what was there before. Gives the new end. */
function step(reader: BytesReader, all: Buffer, end: number): number {
  const tag = reader.byte();
  const rest = tag >> 2;
  if ((tag & 3) === 0) {
    const length = 1 + (rest < 60 ? rest : reader.uint(rest - 59));
    reader.take(length).copy(all, end);
    return end + length;
  }
  const isShort = (tag & 3) === 1;
  const length = isShort ? (rest & 7) + 4 : rest + 1;
  const back = isShort ? ((tag >> 5) << 8) + reader.byte() : reader.uint((tag & 3) === 2 ? 2 : 4);
  if (back === 0 || back > end || end + length > all.length) throw new RangeError('out of bounds');
  for (let at = end; at < end + length; at += 1) all[at] = all[at - back] as number;
  return end + length;
}
