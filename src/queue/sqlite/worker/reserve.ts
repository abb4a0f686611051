import { existsSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';

/** Enough for a checkpoint of a full WAL, after which settling writes into space that it has. */
const RESERVE_BYTES = 8 * 1024 * 1024;

/**
 * A file beside the database that takes up space. On a full disk it is emptied, so that messages that
 * wait can still be claimed and settled, which makes room.
 *
 * It is there while the database is open, or was not closed. So it also tells when somebody has
 * removed the WAL of a process that was killed.
 */
export class Reserve {
  readonly #path: string;

  constructor(file: string) {
    this.#path = `${file}-reserve`;
  }

  /** Whether it takes up space. */
  get isHeld(): boolean {
    return (statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) > 0;
  }

  get isThere(): boolean {
    return existsSync(this.#path);
  }

  /** Takes up the space. Returns false when the disk has none. */
  ensure(): boolean {
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    if (size >= RESERVE_BYTES) return true;
    try {
      // Not zeros, which some file systems do not store.
      writeFileSync(this.#path, Buffer.alloc(RESERVE_BYTES, 'reserved '), { mode: 0o600 });
      return true;
    } catch {
      this.release();
      return false;
    }
  }

  /** Gives the space back to the disk. */
  release(): void {
    try {
      truncateSync(this.#path);
    } catch {
      // It is not there.
    }
  }

  remove(): void {
    rmSync(this.#path, { force: true });
  }
}
