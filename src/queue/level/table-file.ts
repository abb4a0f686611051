/**
 * The rows in a table and in a file of writes, read without the store: it does not check what it reads
 * unless it is asked to, which nobody can, and where keys have changed it ends the process (an
 * assertion, also in its own repair).
 */
import { BytesReader } from './bytes-reader.ts';
import { storedSum } from './crc32c.ts';
import { unpack } from './snappy.ts';

/** A row as it was written at some time; without a value it was deleted then. */
export interface Version {
  readonly key: Buffer;
  readonly value: Buffer | undefined;
  readonly sequence: number;
}

export type Reader = (file: Buffer) => Generator<Version, void, undefined>;

const READERS: readonly (readonly [string, Reader])[] = [
  ['.ldb', versionsOfTable],
  ['.sst', versionsOfTable],
  ['.log', versionsOfWrites],
];

/** `undefined` for a file that holds no rows. */
export const readerOf = (name: string): Reader | undefined =>
  READERS.find(([ending]) => name.endsWith(ending))?.[1];

const FOOTER = 48;
const BLOCK_END = 5;
const PACKED = 1;
const PUT = 1;
/** Behind each key of a table: its sequence and whether it was written or deleted. */
const KEY_END = 8;

/** What can be read of it. Whether it is as it was written is for its checksum to say. */
function* versionsOfTable(file: Buffer): Generator<Version, void, undefined> {
  const footer = new BytesReader(file.subarray(Math.max(0, file.length - FOOTER)));
  // Of what is about the table, nothing is needed.
  footer.varint();
  footer.varint();
  const index = blockAt(file, footer.varint(), footer.varint());
  for (const [, handle] of pairsOf(index)) {
    const reader = new BytesReader(handle);
    yield* versionsOfBlock(file, reader.varint(), reader.varint());
  }
}

function* versionsOfBlock(file: Buffer, at: number, length: number) {
  let block: Buffer;
  try {
    block = blockAt(file, at, length);
  } catch {
    return;
  }
  for (const [key, value] of pairsOf(block)) {
    const end = key.length - KEY_END;
    if (end < 0) return;
    yield {
      key: key.subarray(0, end),
      value: key.readUInt8(end) === PUT ? value : undefined,
      sequence: key.readUIntLE(end + 1, 6),
    };
  }
}

function blockAt(file: Buffer, at: number, length: number): Buffer {
  const block = new BytesReader(file, at).take(length + BLOCK_END);
  const content = block.subarray(0, length);
  return block.readUInt8(length) === PACKED ? unpack(content) : content;
}

/** Up to where they make no sense any more. */
function* pairsOf(block: Buffer): Generator<readonly [Buffer, Buffer], void, undefined> {
  if (block.length < 4) return;
  const ends = block.length - 4 * (1 + block.readUInt32LE(block.length - 4));
  const reader = new BytesReader(ends > 0 ? block.subarray(0, ends) : block);
  let key = Buffer.alloc(0);
  while (!reader.isOver) {
    let value: Buffer;
    try {
      const [shared, own, length] = [reader.varint(), reader.varint(), reader.varint()];
      key = Buffer.concat([key.subarray(0, shared), reader.take(own)]);
      value = reader.take(length);
    } catch {
      return;
    }
    yield [key, value];
  }
}

const WRITES_BLOCK = 32_768;
const HEADER = 7;
const [WHOLE, FIRST, , LAST] = [1, 2, 3, 4];

/** Likewise, of what has its checksum. */
function* versionsOfWrites(file: Buffer): Generator<Version, void, undefined> {
  let parts: Buffer[] | undefined;
  for (const [type, part] of recordsOf(file)) {
    if (type === WHOLE || type === FIRST) parts = [];
    parts?.push(part);
    if (type !== WHOLE && type !== LAST) continue;
    if (parts !== undefined) yield* versionsOfWrite(Buffer.concat(parts));
    parts = undefined;
  }
}

/** In place of one that is damaged, nothing of which it could be a part is whole: its type is 0. */
function* recordsOf(file: Buffer): Generator<readonly [number, Buffer], void, undefined> {
  for (let start = 0; start < file.length; start += WRITES_BLOCK) {
    const block = file.subarray(start, start + WRITES_BLOCK);
    for (let at = 0; at + HEADER <= block.length; ) {
      const end = at + HEADER + block.readUInt16LE(at + 4);
      const [type, part] = [block.subarray(at + 6, at + HEADER), block.subarray(at + HEADER, end)];
      const isWhole = end <= block.length && block.readUInt32LE(at) === storedSum(type, part);
      yield isWhole ? [type.readUInt8(0), part] : [WHOLE, Buffer.alloc(0)];
      at = end;
    }
  }
}

function* versionsOfWrite(write: Buffer): Generator<Version, void, undefined> {
  if (write.length < 12) return;
  const reader = new BytesReader(write);
  let sequence = reader.uint(6);
  reader.take(6);
  for (; !reader.isOver; sequence += 1) {
    const isPut = reader.byte() === PUT;
    const key = reader.take(reader.varint());
    yield { key, value: isPut ? reader.take(reader.varint()) : undefined, sequence };
  }
}
