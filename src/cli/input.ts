/** What commands read: a file, or standard input where none is named or the name is `-`. */
import { createReadStream } from 'node:fs';
import { about, misuse } from './failure.ts';
import { paint, type Terminal } from './terminal.ts';

export interface Input {
  /** What it is called in messages. */
  readonly name: string;
  /** To be read once. A file that cannot be read rejects with Node's own error. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

const isStandardInput = (name: string | undefined): boolean => name === undefined || name === '-';

async function* fromTerminal(terminal: Terminal): AsyncGenerator<Uint8Array> {
  if (terminal.input.isTerminal) {
    const note = 'Reading what you type; Ctrl-D ends it.';
    await terminal.errors.write(`${paint(terminal.errors, 'dim', note)}\n`);
  }
  yield* terminal.input;
}

/** Nothing is opened before the first chunk is asked for. */
export function openInput(name: string | undefined, terminal: Terminal): Input {
  if (name === undefined || isStandardInput(name)) {
    return { name: 'standard input', chunks: fromTerminal(terminal) };
  }
  async function* fromFile(path: string): AsyncGenerator<Uint8Array> {
    try {
      yield* createReadStream(path, { signal: terminal.signal });
    } catch (error) {
      throw about(path, error);
    }
  }
  return { name, chunks: fromFile(name) };
}

/** The whole input as its bytes. @throws CommandFailure with exit code 2 where it is larger. */
export async function readWhole({ name, chunks }: Input, maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw misuse(`${name} has more than ${maxBytes} bytes`);
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}
