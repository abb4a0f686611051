/** Limits the disk space of the database: runs checkpoints, gives free pages back, and keeps a reserve. */
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
import { systemClock } from '../../../runtime/clock.ts';
import { type Database, Stopped } from './database.ts';
import { isDiskFull } from './failure.ts';

/** A checkpoint copies the WAL into the database when it has this many pages (of 4 KiB). */
const CHECKPOINT_PAGES = 2000;
/** Readers can keep a checkpoint from resetting the WAL. Above this many pages, calls wait for them. */
const MAX_WAL_PAGES = 16_000;
const RESET_WAIT_MS = 200;
/** Minimum time between two checks of the WAL's size. */
const WAL_CHECK_INTERVAL_MS = 10;
/** Number of free pages that are kept for new messages. */
const FREE_PAGES = 2000;
/** Number of other free pages that `tidy` gives back to the disk at a time. */
const VACUUM_PAGES = 500;

interface WalState {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

export class DiskSpace {
  readonly #database: Database;
  readonly #reserve: Reserve;
  /** A checkpoint failed because the database could not grow. */
  #isStuck = false;
  #hasWritten = false;
  #lastSequence = 0;
  #walCheckedMs = 0;

  constructor(file: string, database: Database) {
    this.#database = database;
    this.#reserve = new Reserve(file);
    this.#reserve.ensure();
  }

  /** The last sequence that was noted beside the database; 0 without one. */
  get notedSequence(): number {
    return this.#reserve.lastSequence();
  }

  /** Whether messages may be added. The reserve is kept for settling. */
  canGrow(): boolean {
    if (this.#isStuck) this.#checkpoint();
    if (this.#isStuck) return false;
    if (this.#reserve.ensure()) return true;
    // Settled messages have left free pages in the database, which it can give back for the reserve.
    if (this.#freePages() <= FREE_PAGES || !this.#vacuum('all')) return false;
    this.#unlessFull(() => this.#wal('truncate'));
    return this.#reserve.ensure();
  }

  /** Frees the reserve. Returns false when it is free already. */
  makeRoom(): boolean {
    if (!this.#reserve.isHeld) return false;
    this.#reserve.release();
    // Otherwise the caller would try again without end.
    if (this.#reserve.isHeld) return false;
    this.#checkpoint();
    return true;
  }

  /** Must be called after each commit. */
  committed(lastSequence: number): void {
    if (lastSequence > this.#lastSequence) this.#reserve.note(lastSequence);
    this.#lastSequence = lastSequence;
    this.#hasWritten = true;
    const nowMs = systemClock.monotonicMs();
    if (nowMs - this.#walCheckedMs < WAL_CHECK_INTERVAL_MS) return;
    this.#walCheckedMs = nowMs;
    const { log, checkpointed } = this.#wal('noop');
    if (log - checkpointed >= CHECKPOINT_PAGES) this.#checkpoint();
    if (log >= MAX_WAL_PAGES) this.#reset();
  }

  /** Gives back some free pages, or shortens the WAL. Called when there are no calls. */
  tidy(): void {
    if (!this.#hasWritten) return;
    if (this.#freePages() > FREE_PAGES && this.#vacuum(VACUUM_PAGES)) {
      this.committed(this.#lastSequence);
      return;
    }
    this.#hasWritten = false;
    this.#unlessFull(() => this.#wal('truncate'));
  }

  close(): void {
    this.#reserve.close();
  }

  #freePages(): number {
    return this.#database.withoutRetry(() => this.#database.number('pragma freelist_count'));
  }

  /** Gives free pages back to the disk. Returns false when it is full. */
  #vacuum(pages: number | 'all'): boolean {
    const sql = `pragma incremental_vacuum${pages === 'all' ? '' : `(${pages})`}`;
    return this.#unlessFull(() =>
      this.#database.retryWhileBusy(() => this.#database.all(sql), RESET_WAIT_MS),
    );
  }

  #checkpoint(): void {
    this.#isStuck = !this.#unlessFull(() => this.#wal('passive'));
    // Giving free pages back shortens the file, so that the checkpoint has room.
    if (this.#isStuck && this.#vacuum('all'))
      this.#isStuck = !this.#unlessFull(() => this.#wal('passive'));
  }

  #reset(): void {
    this.#unlessFull(() => {
      const endMs = systemClock.monotonicMs() + RESET_WAIT_MS;
      while (this.#wal('restart').busy !== 0 && systemClock.monotonicMs() < endMs)
        this.#database.pause();
    });
  }

  #wal(mode: 'noop' | 'passive' | 'restart' | 'truncate'): WalState {
    const sql = `pragma wal_checkpoint(${mode})`;
    return this.#database.withoutRetry(() => this.#database.get<WalState>(sql)) as WalState;
  }

  /** Returns false when the disk is full. Ignores other errors: the next call meets them again. */
  #unlessFull(work: () => unknown): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (error instanceof Stopped) throw error;
      return !isDiskFull(error);
    }
  }
}

/** Twice the size of a usual checkpoint. After a checkpoint, settling reuses the space of the WAL. */
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

  release(): void {
    ignoreFailure(() => ftruncateSync(this.#opened(), NOTE_BYTES));
  }

  /** Writes the last sequence. It can be too low, since processes may write in another order than they commit. */
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

/** Ignores errors of the file. */
function ignoreFailure(work: () => void): void {
  try {
    work();
  } catch {
    // On a full disk or in a removed folder, the database itself reports the error.
  }
}
