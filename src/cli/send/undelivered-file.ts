/** Where undelivered messages go, one JSON value a line, as `send` reads them. */
import { constants } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { outage } from '../failure.ts';

export interface UndeliveredFile {
  readonly count: number;
  write(message: object): Promise<void>;
  /** What is in it is on the disk; a file without messages is not left behind. */
  close(): Promise<void>;
}

/** Opened before anything is sent: that it cannot be written is no news for afterwards. */
export async function openUndeliveredFile(path: string): Promise<UndeliveredFile> {
  const handle = await open(path, constants.O_WRONLY | constants.O_CREAT, OWNER_ONLY);
  try {
    // A device is neither to be waited for nor to be removed.
    const isRegular = (await handle.stat()).isFile();
    if (isRegular) await empty(path, handle);
    return new OpenedFile(path, handle, isRegular);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Messages tell of people: nobody else on the machine reads them. */
const OWNER_ONLY = 0o600;

/** One that was there has the mode of then; what is in it stays where that cannot be changed. */
async function empty(path: string, handle: FileHandle): Promise<void> {
  await handle.chmod(OWNER_ONLY).catch(() => {
    throw outage(`${path} cannot be made readable for you alone`, 'Name another file.');
  });
  await handle.truncate(0);
}

/** Few writes for many messages. */
const WRITE_CHARACTERS = 65_536;

class OpenedFile implements UndeliveredFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #isRegular: boolean;
  #count = 0;
  #waiting = '';

  constructor(path: string, handle: FileHandle, isRegular: boolean) {
    this.#path = path;
    this.#handle = handle;
    this.#isRegular = isRegular;
  }

  get count(): number {
    return this.#count;
  }

  async write(message: object): Promise<void> {
    this.#count += 1;
    this.#waiting += `${JSON.stringify(message)}\n`;
    if (this.#waiting.length >= WRITE_CHARACTERS) await this.#flush();
  }

  async close(): Promise<void> {
    try {
      await this.#flush();
      if (this.#isRegular) await this.#handle.sync();
    } finally {
      await this.#handle.close();
    }
    if (this.#isRegular && this.#count === 0) await rm(this.#path, { force: true });
  }

  async #flush(): Promise<void> {
    const text = this.#waiting;
    this.#waiting = '';
    if (text !== '') await this.#handle.appendFile(text);
  }
}
