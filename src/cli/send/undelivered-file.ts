/** Saves undelivered messages, one per line, so that `send` can read them again. */
import { type FileHandle, open, rm } from 'node:fs/promises';
import { withPath } from '../errors.ts';

/** Messages are about people: no other user may read them. */
const OWNER_ONLY = 0o600;

export class UndeliveredFile {
  readonly path: string;
  readonly #handle: FileHandle;
  count = 0;
  /** Why saving stopped, for example because the disk is full. */
  failure: unknown;

  constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  /** Writes at once, so the messages survive when the process is killed. */
  async add(messages: readonly object[]): Promise<void> {
    if (messages.length === 0 || this.failure !== undefined) return;
    try {
      await this.#handle.appendFile(messages.map((it) => `${JSON.stringify(it)}\n`).join(''));
      this.count += messages.length;
    } catch (error) {
      this.failure = withPath(this.path, error);
    }
  }

  /** Removes an empty file. */
  async close(): Promise<void> {
    await this.#handle.close();
    if (this.count === 0) await rm(this.path, { force: true });
  }
}

/** Creates the file before anything is sent. Never overwrites: it may hold undelivered messages. */
export async function createUndeliveredFile(path: string): Promise<UndeliveredFile> {
  return new UndeliveredFile(path, await open(path, 'wx', OWNER_ONLY));
}
