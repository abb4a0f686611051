/** Reads a file or standard input: as bytes, or as JSON values. */
import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
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
  try {
    yield* createReadStream(name, { signal: terminal.signal });
  } catch (error) {
    throw withPath(name, error);
  }
}

/** Far more than a request body; a wrong file must not fill the memory. */
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
const TOO_LONG = 'exceeds 64 MiB: write one value per line (NDJSON)';
const LINE_FEED = 0x0a;

interface Line {
  /** From 1. */
  readonly line: number;
  /** Undefined if it exceeds 64 MiB. */
  readonly bytes: Buffer | undefined;
}

/** Yields the lines that each chunk completes. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line[]> {
  let line = 0;
  let held: Buffer[] = [];
  let heldBytes = 0;
  const hold = (bytes: Buffer): void => {
    heldBytes += bytes.length;
    if (heldBytes > MAX_JSON_BYTES) held = [];
    else held.push(bytes);
  };
  const endLine = (): Line => {
    line += 1;
    const bytes = heldBytes > MAX_JSON_BYTES ? undefined : Buffer.concat(held);
    held = [];
    heldBytes = 0;
    return { line, bytes };
  };
  for await (const { buffer, byteOffset, byteLength } of chunks) {
    const chunk = Buffer.from(buffer, byteOffset, byteLength);
    const lines: Line[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      hold(chunk.subarray(from, end));
      lines.push(endLine());
      from = end + 1;
    }
    hold(chunk.subarray(from));
    yield lines;
  }
  yield [endLine()];
}

export type JsonItem =
  | { readonly line: number; readonly value: unknown; readonly bytes: number }
  | { readonly line: number; readonly fault: string };

/** A first line that cannot stand alone: an array that stays open, or a value that continues. */
const CONTINUES = /^\s*\[|[[{,:]\s*$/;

/** A value over several lines. */
class Document {
  readonly line: number;
  readonly #parts: Buffer[] = [];
  #bytes = 0;

  constructor(line: number) {
    this.line = line;
  }

  /** Returns false if it becomes larger than 64 MiB. */
  add(bytes: Buffer | undefined): boolean {
    this.#bytes += (bytes?.length ?? MAX_JSON_BYTES) + 1;
    if (this.#parts.length > 0) this.#parts.push(Buffer.from('\n'));
    this.#parts.push(bytes ?? Buffer.alloc(0));
    return this.#bytes <= MAX_JSON_BYTES;
  }

  parse(): JsonItem | undefined {
    return parse(Buffer.concat(this.#parts), this.line);
  }
}

/**
 * Reads JSON: any number of lines with one value each (NDJSON), or one document over several lines. A
 * line or a document has at most 64 MiB. A broken line does not affect the others. Yields the items that
 * each chunk completes.
 */
export async function* readJson(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<JsonItem[]> {
  let isFirst = true;
  let document: Document | undefined;
  for await (const lines of linesOf(chunks)) {
    const items: JsonItem[] = [];
    for (const { line, bytes } of lines) {
      const item = document === undefined ? parse(bytes, line) : undefined;
      const isOpen = isFirst && item !== undefined && 'fault' in item && bytes !== undefined;
      if (isOpen && CONTINUES.test(bytes.toString())) document = new Document(line);
      else if (item !== undefined) items.push(item);
      isFirst &&= item === undefined;
      if (document === undefined || document.add(bytes)) continue;
      yield [{ line: document.line, fault: TOO_LONG }];
      return;
    }
    yield items;
  }
  const item = document?.parse();
  if (item !== undefined) yield [item];
}

/** Returns undefined for white space. Faults quote nothing of the text, which may be a payload. */
function parse(bytes: Buffer | undefined, line: number): JsonItem | undefined {
  if (bytes === undefined) return { line, fault: TOO_LONG };
  if (!isUtf8(bytes)) return { line, fault: 'not JSON: not UTF-8' };
  const text = line === 1 ? bytes.toString().replace(/^\uFEFF/, '') : bytes.toString();
  try {
    return { line, value: JSON.parse(text) as unknown, bytes: bytes.length };
  } catch {
    if (text.trim() === '') return undefined;
    const at = syntaxErrorAt(text);
    const before = text.slice(0, at).split('\n');
    const where = `column ${(before.at(-1) ?? '').length + 1}`;
    const what = at === text.length ? 'ends too early' : 'syntax error';
    return { line: line + before.length - 1, fault: `not JSON: ${what} (${where})` };
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
