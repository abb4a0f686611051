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

/** More than a checkpoint of the largest WAL needs, after which settling writes into space it has. */
const RESERVE_BYTES = 16 * 1024 * 1024;
const NOTE_BYTES = 64;

/**
 * A file beside the database that takes up space. On a full disk it is emptied, so that waiting
 * messages can still be claimed and settled, which makes room.
 *
 * It begins with the last sequence that was committed. A database that knows a lower one has lost
 * commits: somebody removed its WAL, or put back an older copy.
 */
export class Reserve {
  readonly #path: string;
  #descriptor: number | undefined;

  constructor(file: string) {
    this.#path = `${file}-reserve`;
  }

  /** Whether it takes up space. */
  get isHeld(): boolean {
    return this.#size() > NOTE_BYTES;
  }

  /** Takes up the space. Returns false when the disk has none. */
  ensure(): boolean {
    const size = this.#size();
    if (size >= RESERVE_BYTES) return true;
    try {
      // Not zeros, which some file systems do not store.
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

  /** Writes down the last sequence. Processes may do so in the wrong order: then it is a lower one. */
  note(sequence: number): void {
    ignoreFailure(() => void writeSync(this.#opened(), textOf(sequence), 0));
  }

  /** The last sequence that was written down; 0 without one. */
  lastSequence(): number {
    const bytes = Buffer.alloc(NOTE_BYTES);
    ignoreFailure(() => void readSync(this.#opened(), bytes, 0, NOTE_BYTES, 0));
    const note = bytes.toString('latin1');
    const sequence = Number(/^last sequence (\d{1,15}) /.exec(note)?.[1] ?? 0);
    // Damaged by a bad disk: a false one would be reported as lost commits.
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

/** On a full disk, or in a folder that was removed, the database itself reports what is wrong. */
function ignoreFailure(work: () => void): void {
  try {
    work();
  } catch {
    // See above.
  }
}
