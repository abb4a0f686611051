/**
 * Each row ends with a checksum of its key and value: the store reads without checking its own, so
 * that bytes which have changed on the disk would be delivered, or found under another key.
 */
import { crc32 } from 'node:zlib';

const SEAL = 4;

export function sealed(key: Buffer, value: Buffer): Buffer {
  const row = Buffer.allocUnsafe(value.length + SEAL);
  value.copy(row);
  row.writeUInt32BE(crc32(value, crc32(key)), value.length);
  return row;
}

/** The value; `undefined` where these are not the bytes that were written there. */
export function unsealed(key: Buffer, row: Buffer): Buffer | undefined {
  const end = row.length - SEAL;
  if (end < 0) return undefined;
  const value = row.subarray(0, end);
  return row.readUInt32BE(end) === crc32(value, crc32(key)) ? value : undefined;
}
