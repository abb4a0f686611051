import {
  closeSync,
  constants,
  ftruncateSync,
  openSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';

/** More than a checkpoint of the largest WAL needs; after it, settling reuses space of the WAL. */
const RESERVE_BYTES = 16 * 1024 * 1024;
const NOTE_BYTES = 64;

/**
 * A file beside the database that takes up space. On a full disk it is emptied, so that waiting
 * messages can still be claimed and settled, which makes room.
 *
 * It begins with the last sequence that was committed. If the one in the database is lower, commits were
 * lost: its WAL was removed, or an older copy was put back.
 */
export class Reserve {
  readonly #path: string;
  #descriptor: number | undefined;

  constructor(file: string) {
    this.#path = `${file}-reserve`;
  }

  get isHeld(): boolean {
    return this.#size() > NOTE_BYTES;
  }

  /** Takes up the space. Returns false when the disk has none. */
  ensure(): boolean {
    const size = this.#size();
    if (size >= RESERVE_BYTES) return true;
    try {
      // Not zeros: some file systems do not allocate space for them.
      const filling = Buffer.alloc(RESERVE_BYTES - size, 'reserved ');
      if (size === 0) filling.write(textOf(0));
      for (let done = 0; done < filling.length; ) {
        done += writeSync(this.#opened(), filling, done, filling.length - done, size + done);
      }
      return true;
    } catch {
      this.release();
      return false;
    }
  }

  /** Gives the space back to the disk. */
  release(): void {
    ignoreFailure(() => ftruncateSync(this.#opened(), NOTE_BYTES));
  }

  /** Writes the last sequence. It may be too low, since processes may write in the wrong order. */
  note(sequence: number): void {
    ignoreFailure(() => void writeSync(this.#opened(), textOf(sequence), 0));
  }

  /** Returns the last sequence that was written; 0 if none was. */
  lastSequence(): number {
    const bytes = Buffer.alloc(NOTE_BYTES);
    ignoreFailure(() => void readSync(this.#opened(), bytes, 0, NOTE_BYTES, 0));
    const note = bytes.toString('latin1');
    const sequence = Number(/^last sequence (\d{1,15}) /.exec(note)?.[1] ?? 0);
    // A damaged sequence must not be reported as lost commits.
    return note === textOf(sequence) ? sequence : 0;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #size(): number {
    return statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
  }

  #opened(): number {
    this.#descriptor ??= openSync(this.#path, constants.O_RDWR | constants.O_CREAT, 0o600);
    return this.#descriptor;
  }
}

function textOf(sequence: number): string {
  const text = `last sequence ${sequence} `;
  return `${text}${crc32(text)}\n`.padEnd(NOTE_BYTES, '.');
}

/** On a full disk or in a removed folder the database itself reports the error. */
function ignoreFailure(work: () => void): void {
  try {
    work();
  } catch {
    // See above.
  }
}
