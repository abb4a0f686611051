/** `view`: shows a file, which may grow, on the inspector's page. */
import { once } from 'node:events';
import { type FileHandle, open, stat } from 'node:fs/promises';
import http from 'node:http';
import { defineCommand, option } from './command.ts';
import { environmentError, withPath } from './errors.ts';
import { inputName, openInput, PAUSE, readJson } from './input.ts';
import { valueEntry } from './inspector/entries.ts';
import { Inspector } from './inspector.ts';
import { openServer } from './listen/listen.ts';
import type { Terminal } from './terminal.ts';
import { integerOf } from './values.ts';

/** Interval of checks for changes. Notifications of file systems miss those on network drives. */
const POLL_MS = 250;
const CHUNK_BYTES = 65_536;

type Following = Pick<Terminal, 'signal' | 'clock'>;

/** Yields the file as it grows. Ends when the file is replaced or truncated, or the signal aborts. */
async function* growingFile(
  path: string,
  file: FileHandle,
  { signal, clock }: Following,
): AsyncGenerator<Uint8Array> {
  try {
    const { ino } = await file.stat();
    let position = 0;
    let isGrowing = true;
    while (!signal.aborted) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(CHUNK_BYTES), { position });
      position += bytesRead;
      if (bytesRead > 0) yield buffer.subarray(0, bytesRead);
      else if (isGrowing) yield PAUSE;
      isGrowing = bytesRead > 0;
      if (isGrowing) continue;
      await clock.sleep(POLL_MS, signal);
      // A file that is being replaced is missing for an instant.
      const found = await stat(path).catch(() => ({ ino, size: position }));
      if (found.ino !== ino || found.size < position) return;
    }
  } finally {
    await file.close();
  }
}

/** Opens a file before its page is announced. @throws CommandError with exit code 3 for a directory */
async function openFile(path: string): Promise<FileHandle> {
  if ((await stat(path)).isDirectory()) throw environmentError(`${path}: is a directory`);
  return open(path);
}

/** Waits until there is a file again, and opens it. Returns undefined when the signal aborts. */
async function openReplacement(
  path: string,
  { signal, clock }: Following,
): Promise<FileHandle | undefined> {
  while (!signal.aborted) {
    const file = await open(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (file !== undefined) return file;
    await clock.sleep(POLL_MS, signal);
  }
  return undefined;
}

const command = defineCommand({
  summary: 'Shows a file of log lines, messages or captured bodies on a page in the browser.',
  usage: 'FILE',
  options: { port: option('N', 'Port to listen on. Default 0: a free one.') },
  notes: [
    'FILE is NDJSON or one JSON document of up to 64 MiB, and is followed as it grows; `-` is standard ' +
      'input. Each value is checked against the contract. The last 1,000 are kept.',
    'Open the printed address in a browser on this machine. Do not share the address: its random ' +
      'part keeps others out.',
  ],
  examples: [
    'security-events view events.ndjson',
    '# A captured request body',
    'security-events view body.json',
    'kubectl logs -f deploy/shop | security-events view -',
  ],
  async run({ options, positionals: [path], terminal }) {
    const { signal, clock, output } = terminal;
    const inspector = new Inspector({ clock, secrets: [] });
    const server = http.createServer((request, response) => {
      if (!inspector.handle(request, response)) response.writeHead(404).end();
    });
    const name = inputName(path);
    const show = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
      for await (const items of readJson(chunks)) {
        for (const item of items) inspector.add(valueEntry({ file: name, ...item }, clock.now()));
      }
    };
    const port = integerOf('--port', options.port ?? '0', [0, 65_535]);
    const url = await openServer(server, { host: '127.0.0.1', port });
    try {
      let file = name === path ? await openFile(path) : undefined;
      const page = inspector.publishAt(url, {
        source: name,
        hint: 'There are no JSON values yet.',
      });
      await output.write(`Inspect ${name} at ${page}\n`);
      if (name === path) {
        while (file !== undefined) {
          await show(growingFile(path, file, terminal));
          inspector.clear();
          file = await openReplacement(path, terminal);
        }
      } else {
        await show(openInput('-', terminal));
        // The page stays open when the input ends.
        if (!signal.aborted) await once(signal, 'abort');
      }
    } catch (error) {
      if (!signal.aborted) throw withPath(name, error);
    } finally {
      server.close();
      server.closeAllConnections();
    }
    return 0;
  },
});

export const commands = { view: command };
