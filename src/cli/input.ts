/** Reads a file or standard input: as bytes, or as JSON values. */
import { isUtf8 } from 'node:buffer';
import { close, constants, createReadStream, open } from 'node:fs';
import { usageError, withPath } from './errors.ts';
import { paint, type Terminal } from './terminal.ts';

const isStandardInput = (name: string | undefined): name is '-' | undefined =>
  name === undefined || name === '-';

export const inputName = (name: string | undefined): string =>
  isStandardInput(name) ? 'standard input' : name;

/** Opens the input when the first chunk is requested. Standard input if the name is missing or `-`. */
export async function* openInput(
  name: string | undefined,
  terminal: Terminal,
): AsyncGenerator<Uint8Array> {
  if (isStandardInput(name)) {
    if (terminal.input.isTerminal) {
      const note = 'Reading from the terminal. Press Ctrl-D to finish.';
      await terminal.errors.write(`${paint(terminal.errors, 'dim', note)}\n`);
    }
    yield* terminal.input;
    return;
  }
  const { signal } = terminal;
  const stream = createReadStream(name, { signal });
  const onAbort = (): void => {
    if (stream.pending) releasePipe(name);
  };
  signal.addEventListener('abort', onAbort);
  try {
    yield* stream;
  } catch (error) {
    throw withPath(name, error);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Opens a named pipe for writing. Ends an `open` that waits for a writer: Node cannot cancel it, not even to exit. */
function releasePipe(path: string): void {
  open(path, constants.O_WRONLY | constants.O_NONBLOCK, (_error, file) => {
    if (file !== undefined) close(file);
  });
}

/** Far above the limit of a request body: only keeps a wrong file from filling the memory. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** @throws CommandError with exit code 2 if the body exceeds 16 MiB. */
export async function readBody(name: string | undefined, terminal: Terminal): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of openInput(name, terminal)) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw usageError(`${inputName(name)} exceeds 16 MiB`);
    parts.push(chunk);
  }
  return Buffer.concat(parts);
}

const MAX_JSON_BYTES = 64 * 1024 * 1024;
const LINE_FEED = 0x0a;

/** A value, or why there is none. */
export type JsonItem =
  | { readonly line: number; readonly value: unknown; readonly text: string }
  | { readonly line: number; readonly error: string; readonly text: string };

/** A chunk that marks a pause: the end of a file that may still grow. */
export const PAUSE = Buffer.alloc(0);

/** Matches an incomplete first line whose value may go on in the next line. */
const CONTINUES = /^\s*\[|[[{,:]\s*$/;

/** Collects bytes until they are a value: a line, or a document over several lines. */
class JsonReader {
  #buffered: Buffer[] = [];
  #bufferedBytes = 0;
  /** The line at which the buffered bytes start, from 1. */
  #line = 1;
  /** Whether a document may start here: no value was read before. */
  #isStart = true;
  #isDocument = false;

  get isTooLong(): boolean {
    return this.#bufferedBytes > MAX_JSON_BYTES;
  }

  /** Whether a document exceeds the limit. Only the end of the input ends a document, so reading stops. */
  get isStuck(): boolean {
    return this.#isDocument && this.isTooLong;
  }

  /** Returns the values of the lines that the chunk completes. */
  read(chunk: Buffer): JsonItem[] {
    const items: JsonItem[] = [];
    let from = 0;
    for (let end = 0; !this.#isDocument; from = end + 1) {
      end = chunk.indexOf(LINE_FEED, from);
      if (end === -1) break;
      this.#append(chunk.subarray(from, end));
      const item = this.#parse();
      this.#isDocument = this.#isStart && item !== undefined && isContinued(item);
      if (this.#isDocument) this.#append(chunk.subarray(end, end + 1));
      else {
        if (item !== undefined) items.push(item);
        this.#isStart &&= item === undefined;
        this.#clear(1);
      }
    }
    this.#append(chunk.subarray(from));
    return items;
  }

  /** Returns the value in the buffered bytes, at the end of the input or at a pause. */
  flush(at: 'end' | 'pause'): JsonItem[] {
    const item = this.#parse();
    if (item === undefined) return [];
    const isCutOff = 'error' in item && at === 'pause';
    // At a pause, an incomplete value is kept, since it may still grow. At the start of a file it is also
    // reported: the file may never grow.
    const items = isCutOff && !this.#isStart ? [] : [item];
    this.#isStart = this.#isDocument && !isCutOff;
    if (!isCutOff) this.#clear(item.text.split('\n').length - 1);
    return items;
  }

  #append(bytes: Buffer): void {
    this.#bufferedBytes += bytes.length;
    if (this.isTooLong) this.#buffered = [];
    else this.#buffered.push(bytes);
  }

  #clear(lines: number): void {
    this.#buffered = [];
    this.#bufferedBytes = 0;
    this.#line += lines;
    this.#isDocument = false;
  }

  #parse(): JsonItem | undefined {
    if (!this.isTooLong) return parse(Buffer.concat(this.#buffered), this.#line);
    const error = 'exceeds 64 MiB: write one value per line (NDJSON)';
    return { line: this.#line, error, text: '' };
  }
}

const isContinued = (item: JsonItem): boolean => 'error' in item && CONTINUES.test(item.text);

/**
 * Reads JSON: any number of lines with one value each (NDJSON), or one document over several lines. A
 * line or a document has at most 64 MiB. A broken line does not affect the others. Yields the items that
 * each chunk completes.
 */
export async function* readJson(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<JsonItem[]> {
  const reader = new JsonReader();
  for await (const chunk of chunks) {
    const { buffer, byteOffset, byteLength } = chunk;
    yield chunk === PAUSE
      ? reader.flush('pause')
      : reader.read(Buffer.from(buffer, byteOffset, byteLength));
    if (reader.isStuck) break;
  }
  yield reader.flush('end');
}

/** Returns undefined for white space. Errors quote nothing of the text, which may be a payload. */
function parse(bytes: Buffer, line: number): JsonItem | undefined {
  if (!isUtf8(bytes)) return { line, error: 'not JSON: not UTF-8', text: '' };
  const text = line === 1 ? bytes.toString().replace(/^\uFEFF/, '') : bytes.toString();
  try {
    return { line, value: JSON.parse(text) as unknown, text };
  } catch {
    if (text.trim() === '') return undefined;
    const at = syntaxErrorAt(text);
    const before = text.slice(0, at).split('\n');
    const where = `column ${(before.at(-1) ?? '').length + 1}`;
    const what = at === text.length ? 'ends too early' : 'syntax error';
    return { line: line + before.length - 1, error: `not JSON: ${what} (${where})`, text };
  }
}

/**
 * Returns the index of the first character that cannot follow. Searches for the longest prefix that
 * could still become JSON: V8's messages name the position of some errors only, and quote the text.
 */
function syntaxErrorAt(text: string): number {
  if (canContinue(text)) return text.length;
  let [low, high] = [0, text.length];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (canContinue(text.slice(0, middle))) low = middle;
    else high = middle;
  }
  return low;
}

/** Whether a text is JSON, or only lacks its end. */
function canContinue(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as SyntaxError;
    const [, position] = /at position (\d+)/.exec(message) ?? [];
    return message.includes('Unexpected end') || position === String(text.length);
  }
}
