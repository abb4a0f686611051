/** The space that the database takes: checkpoints of its WAL, free pages, and a full disk. */
import { systemClock } from '../../../runtime/clock.ts';
import { type Database, Stopped } from './database.ts';
import { isDiskFull } from './failure.ts';
import { Reserve } from './reserve.ts';

/** Pages of 4 KiB in the WAL from which on it is moved into the database. */
const CHECKPOINT_PAGES = 2000;
/** Other processes can keep a checkpoint from resetting the WAL. From here on they wait for it. */
const MAX_WAL_PAGES = 16_000;
const RESET_WAIT_MS = 200;
/** The size of the WAL is read again after so much time. */
const LOOK_MS = 10;
/** Free pages that are kept for new messages, and pages that are given back at a time. */
const FREE_PAGES = 2000;
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
  #lookedMs = 0;

  constructor(file: string, database: Database) {
    this.#database = database;
    this.#reserve = new Reserve(file);
    this.#reserve.ensure();
  }

  /** The last sequence that was noted beside the database; 0 without one. */
  get notedSequence(): number {
    return this.#reserve.lastSequence();
  }

  /** Whether messages may be added: what the disk keeps in reserve is for settling. */
  canGrow(): boolean {
    if (this.#isStuck) this.#checkpoint();
    if (this.#isStuck) return false;
    if (this.#reserve.ensure()) return true;
    // Settled messages have left free pages, which another program's files cannot have taken.
    if (this.#freePages() <= FREE_PAGES || !this.#vacuum('all')) return false;
    this.#unlessFull(() => this.#wal('truncate'));
    return this.#reserve.ensure();
  }

  /** Frees the reserve. Returns false when it is free already. */
  makeRoom(): boolean {
    if (!this.#reserve.isHeld) return false;
    this.#reserve.release();
    this.#checkpoint();
    return true;
  }

  /** To be called after each commit. */
  committed(lastSequence: number): void {
    if (lastSequence > this.#lastSequence) this.#reserve.note(lastSequence);
    this.#lastSequence = lastSequence;
    this.#hasWritten = true;
    const nowMs = systemClock.monotonicMs();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    const { log, checkpointed } = this.#wal('noop');
    if (log - checkpointed >= CHECKPOINT_PAGES) this.#checkpoint();
    if (log >= MAX_WAL_PAGES) this.#reset();
  }

  /** Does a part of what can wait until nobody calls. */
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
    return this.#database.quickly(() => this.#database.number('pragma freelist_count'));
  }

  /** Gives free pages back to the disk. Returns false when it is full. */
  #vacuum(pages: number | 'all'): boolean {
    const sql = `pragma incremental_vacuum${pages === 'all' ? '' : `(${pages})`}`;
    return this.#unlessFull(() =>
      this.#database.patiently(() => this.#database.all(sql), RESET_WAIT_MS),
    );
  }

  #checkpoint(): void {
    this.#isStuck = !this.#unlessFull(() => this.#wal('passive'));
    // Pages at the end of the database may be free: without them it need not grow as far.
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
    return this.#database.quickly(() => this.#database.get<WalState>(sql)) as WalState;
  }

  /** Returns false when the disk is full. Calls find out what else is wrong with the file. */
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
