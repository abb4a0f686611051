/** Reads the numbers of the store's files one after the other. What lies behind the end throws a RangeError. */
export class BytesReader {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.at = at;
  }

  get isOver(): boolean {
    return this.at >= this.#bytes.length;
  }

  byte(): number {
    this.at += 1;
    return this.#bytes.readUInt8(this.at - 1);
  }

  /** Seven bits a byte, the lowest first. */
  varint(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      if (factor > 2 ** 42) throw new RangeError('no end of a number');
    }
  }

  /** Of so many bytes, the lowest first. */
  uint(length: number): number {
    this.at += length;
    return this.#bytes.readUIntLE(this.at - length, length);
  }

  take(length: number): Buffer {
    const end = this.at + length;
    if (end > this.#bytes.length) throw new RangeError('cut off');
    const part = this.#bytes.subarray(this.at, end);
    this.at = end;
    return part;
  }
}
