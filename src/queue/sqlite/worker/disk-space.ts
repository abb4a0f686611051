/** The space that the database takes: checkpoints of its WAL, free pages, and a full disk. */
import { systemClock } from '../../../runtime/clock.ts';
import type { Database } from './database.ts';
import { isDiskFull } from './failure.ts';
import { Stopped } from './gate.ts';
import { Reserve } from './reserve.ts';

/** Pages of 4 KiB in the WAL from which on it is moved into the database. */
const CHECKPOINT_PAGES = 2000;
/** Other processes can keep a checkpoint from resetting the WAL. From here on they wait for it. */
const MAX_WAL_PAGES = 16_000;
const RESET_WAIT_MS = 200;
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

  constructor(file: string, database: Database) {
    this.#database = database;
    this.#reserve = new Reserve(file);
    this.#reserve.ensure();
  }

  /** Whether messages may be added: what the disk keeps in reserve is for settling. */
  canGrow(): boolean {
    if (this.#isStuck) this.#checkpoint();
    if (this.#isStuck) return false;
    if (this.#reserve.ensure()) return true;
    // Settled messages have left free pages, which another program's files cannot have taken.
    if (this.#freePages() <= FREE_PAGES || !this.#vacuumAll()) return false;
    this.#ignoringFullDisk(() => this.#wal('truncate'));
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
    const { log, checkpointed } = this.#wal('noop');
    if (log - checkpointed >= CHECKPOINT_PAGES) this.#checkpoint();
    if (log >= MAX_WAL_PAGES) this.#reset();
  }

  /**
   * Raises the last sequence to the one that was written down, so that none is given twice. Returns
   * how many are missing.
   */
  repairSequence(): number {
    const noted = this.#reserve.lastSequence();
    return this.#database.transaction(() => {
      const row = this.#database.get('select last_sequence from queue_state');
      const known = Number(row?.['last_sequence']);
      if (noted <= known) return 0;
      this.#database.run('update queue_state set last_sequence = ?', noted);
      return noted - known;
    });
  }

  /** Does a part of what can wait until nobody calls. Returns whether there is more. */
  tidy(): boolean {
    if (!this.#hasWritten) return false;
    if (this.#freePages() > FREE_PAGES && this.#vacuum()) return true;
    this.#hasWritten = false;
    this.#ignoringFullDisk(() => this.#wal('truncate'));
    return false;
  }

  close(): void {
    this.#reserve.close();
  }

  #freePages(): number {
    const row = this.#database.quickly(() => this.#database.get('pragma freelist_count'));
    return Number(row?.['freelist_count']);
  }

  #vacuum(): boolean {
    return this.#ignoringFullDisk(() => {
      this.#database.patiently(
        () => this.#database.all(`pragma incremental_vacuum(${VACUUM_PAGES})`),
        RESET_WAIT_MS,
      );
      this.committed(this.#lastSequence);
    });
  }

  #checkpoint(): void {
    this.#isStuck = !this.#ignoringFullDisk(() => this.#wal('passive'));
    // Pages at the end of the database may be free: without them it need not grow as far.
    if (this.#isStuck && this.#vacuumAll()) {
      this.#isStuck = !this.#ignoringFullDisk(() => this.#wal('passive'));
    }
  }

  #vacuumAll(): boolean {
    return this.#ignoringFullDisk(() =>
      this.#database.patiently(() => this.#database.all('pragma incremental_vacuum')),
    );
  }

  #reset(): void {
    this.#ignoringFullDisk(() => {
      const endMs = systemClock.monotonicMs() + RESET_WAIT_MS;
      while (this.#wal('restart').busy !== 0 && systemClock.monotonicMs() < endMs)
        this.#database.pause();
    });
  }

  #wal(mode: 'noop' | 'passive' | 'restart' | 'truncate'): WalState {
    const sql = `pragma wal_checkpoint(${mode})`;
    return this.#database.quickly(() => this.#database.get<WalState>(sql)) as WalState;
  }

  /** Returns false when the disk is full. Others find out what else is wrong with the file. */
  #ignoringFullDisk(work: () => unknown): boolean {
    try {
      work();
      return true;
    } catch (error) {
      if (error instanceof Stopped) throw error;
      return !isDiskFull(error);
    }
  }
}
