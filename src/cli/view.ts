/** `view`: the inspector's page over a file, which it follows as it grows. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import http from 'node:http';
import { defineCommand, option } from './command.ts';
import { withPath } from './errors.ts';
import { inputName, type JsonItem, openInput, readJson } from './input.ts';
import { valueEntry } from './inspector/entries.ts';
import { Inspector } from './inspector.ts';
import { openServer } from './listen/listen.ts';
import type { Terminal } from './terminal.ts';
import { integerOf } from './values.ts';

/** How often a file is looked at. Notifications of file systems miss changes on network drives. */
const POLL_MS = 250;
const LINE_FEED = 0x0a;

/** Receives the values of a file. `clear` is called if the file was replaced. */
interface Sink {
  readonly add: (item: JsonItem) => void;
  readonly clear: () => void;
}

/** The place after a line end at which the next pass over a file starts. */
interface Place {
  readonly bytes: number;
  readonly lines: number;
}

/** Reads from a place to `end`. Leaves a last line that is cut off for the next pass. */
async function readPass(
  path: string,
  { start, end, isStill }: { start: Place; end: number; isStill: boolean },
  add: Sink['add'],
): Promise<Place> {
  let [bytes, lineStart, lines, count] = [start.bytes, start.bytes, start.lines, 0];
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for await (const chunk of createReadStream(path, { start: start.bytes, end: end - 1 })) {
      const buffer = chunk as Buffer;
      for (let at = buffer.indexOf(LINE_FEED); at !== -1; at = buffer.indexOf(LINE_FEED, at + 1)) {
        lineStart = bytes + at + 1;
        lines += 1;
      }
      bytes += buffer.length;
      yield buffer;
    }
  }
  let rest: JsonItem | undefined;
  for await (const items of readJson(chunks())) {
    for (const found of items) {
      const item = { ...found, line: found.line + start.lines };
      const isCutOff = 'fault' in item && item.fault.includes('ends too early');
      const isLast = bytes === end && lineStart < end && item.line === lines + 1;
      if (isCutOff && isLast) rest = item;
      else add(item);
      if (rest === undefined) count += 1;
    }
  }
  if (rest === undefined) return { bytes: end, lines };
  if (count > 0) return { bytes: lineStart, lines };
  // A whole file that stays cut off is not being written.
  if (isStill && start.bytes === 0) add(rest);
  return start;
}

/** Reads a file from its start, and again whenever it grows, until the signal aborts. */
export async function followFile(
  path: string,
  { signal, clock }: Pick<Terminal, 'signal' | 'clock'>,
  { add, clear }: Sink,
): Promise<void> {
  let start: Place = { bytes: 0, lines: 0 };
  let [seenBytes, seenFile, wasStill] = [-1, (await stat(path)).ino, false];
  while (!signal.aborted) {
    // It is missing for an instant while it is replaced.
    const { size: end, ino } = await stat(path).catch(() => ({ size: seenBytes, ino: seenFile }));
    if (end < seenBytes || ino !== seenFile) {
      clear();
      start = { bytes: 0, lines: 0 };
    }
    const isStill = end === seenBytes && ino === seenFile;
    [seenBytes, seenFile] = [end, ino];
    if (end > start.bytes && !(isStill && wasStill)) {
      start = await readPass(path, { start, end, isStill }, add);
    }
    wasStill = isStill;
    await clock.sleep(POLL_MS, signal);
  }
}

const command = defineCommand({
  summary: 'Shows a file of log lines, messages or captured bodies on a page in the browser.',
  usage: 'FILE',
  options: { port: option('N', 'Port to listen on. Default 0: a free one.') },
  notes: [
    'FILE is NDJSON or one JSON document of up to 64 MiB, and is followed as it grows; `-` is standard ' +
      'input. Each value is checked against the contract. The page keeps the last 1,000.',
    'Open the printed address in a browser on this machine. The random part of it keeps others out, ' +
      'so do not share it.',
  ],
  examples: [
    'security-events view events.ndjson',
    '# A captured request body',
    'security-events view body.json',
    'kubectl logs -f deploy/shop | security-events view -',
  ],
  async run({ options, words: [path], terminal }) {
    const { signal, clock, output } = terminal;
    const inspector = new Inspector({ clock, secrets: [] });
    const server = http.createServer((request, response) => {
      if (!inspector.handle(request, response)) response.writeHead(404).end();
    });
    const name = inputName(path);
    const add = (item: JsonItem): void =>
      inspector.add(valueEntry({ file: name, ...item }, clock.now()));
    const port = integerOf('--port', options.port ?? '0', [0, 65_535]);
    const url = await openServer(server, '127.0.0.1', port);
    try {
      const page = inspector.urlAt(url, { source: name, hint: 'The file has no JSON values yet.' });
      await output.write(`Inspect ${name} at ${page}\n`);
      if (name === path) await followFile(path, terminal, { add, clear: () => inspector.clear() });
      else await readInput(terminal, add);
    } catch (error) {
      if (!signal.aborted) throw withPath(name, error);
    } finally {
      server.close();
      server.closeAllConnections();
    }
    return 0;
  },
});

/** The page stays when the input ends. */
async function readInput(terminal: Terminal, add: Sink['add']): Promise<void> {
  for await (const items of readJson(openInput('-', terminal))) {
    for (const item of items) add(item);
  }
  await terminal.clock.sleep(2 ** 31 - 1, terminal.signal);
}

export const commands = { view: command };
