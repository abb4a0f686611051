/** The checksum of the store's own files (Castagnoli's polynomial), which Node has no function for. */

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1;
  return sum >>> 0;
});

/** As it is stored: turned and shifted, since a checksum of checksums is no good. */
export function storedSum(...parts: readonly Buffer[]): number {
  let sum = 0xffffffff;
  for (const part of parts) {
    for (const byte of part) sum = (TABLE[(sum ^ byte) & 0xff] as number) ^ (sum >>> 8);
  }
  sum = ~sum >>> 0;
  return (((sum >>> 15) | (sum << 17)) + 0xa282ead8) >>> 0;
}
