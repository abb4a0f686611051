import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogWriter, RecordWriter } from '../../src/log/writer.ts';
import { type LogWriterOptions, readWriterOptions } from '../../src/log/writer-options.ts';
import { type Clock, systemClock } from '../../src/runtime/clock.ts';
import { parseLines, smallRecord } from '../helpers/log-records.ts';
import { listenOn } from '../helpers/servers.ts';
import {
  descriptorsOf,
  namedPipe,
  stalledPipe,
  temporaryFile,
  temporaryFolder,
} from '../helpers/temporary-files.ts';

const line = (name: string): string => `${JSON.stringify(smallRecord(name))}\n`;

const openOn = (path: string): number => descriptorsOf(path).length;

const tick = (): Promise<false> => new Promise((resolve) => setImmediate(() => resolve(false)));

/** Reads the current content of a pipe once, up to a number of bytes. */
function readSome(fd: number, maxBytes = 65_536): string {
  const chunk = Buffer.alloc(maxBytes);
  try {
    return chunk.toString('utf8', 0, readSync(fd, chunk));
  } catch {
    return '';
  }
}

/** Reads the current content of a pipe. */
function readNow(fd: number): string {
  const text = readSome(fd);
  return text === '' ? text : text + readNow(fd);
}

/** Reads a pipe until a promise has resolved. */
async function readUntil(fd: number, settled: Promise<unknown>): Promise<string> {
  let text = '';
  const isSettled = settled.then(() => true);
  while (!(await Promise.race([isSettled, tick()]))) text += readNow(fd);
  return text + readNow(fd);
}

/** A writer in the background on a new file. */
function fileWriter(options: LogWriterOptions = {}) {
  const path = join(temporaryFolder(), 'events.log');
  const text = () => readFileSync(path, 'utf8');
  return { path, text, writer: createLogWriter({ destination: path, sync: false, ...options }) };
}

/** Leaves no room in a pipe. */
function fill(fd: number): void {
  for (;;) {
    try {
      writeSync(fd, Buffer.alloc(4096));
    } catch {
      return;
    }
  }
}

describe('a file with sync: false', () => {
  test('has every line, in order, when flush resolves', async () => {
    const { path, text, writer } = fileWriter();
    const names = Array.from({ length: 1000 }, (_, index) => `name-${index}`);
    for (const name of names) writer.write(smallRecord(name));
    expect(await writer.stats()).toMatchObject({ written: 0, pending: 1000 });
    await writer.flush();
    expect(text()).toBe(names.map(line).join(''));
    const counted = { written: 1000, pending: 0, failed: 0, dropped: 0 };
    expect(await writer.stats()).toMatchObject(counted);
    expect(openOn(path)).toBe(1);
    await writer.close();
    expect(openOn(path)).toBe(0);
  });

  test('has the lines before the call of flush, while more are written', async () => {
    const { text, writer } = fileWriter();
    writer.write(smallRecord('one'));
    const first = writer.flush();
    writer.write(smallRecord('x'.repeat(1_000_000)));
    const second = writer.flush();
    await first;
    expect(text().startsWith(line('one'))).toBe(true);
    await second;
    expect(text()).toBe(line('one') + line('x'.repeat(1_000_000)));
  });

  test('starts a new line after a torn one', async () => {
    const destination = temporaryFile('{torn');
    const writer = createLogWriter({ destination, sync: false });
    writer.write(smallRecord('one'));
    writer.write(smallRecord('two'));
    await writer.flush();
    expect(readFileSync(destination, 'utf8')).toBe(`{torn\n${line('one')}${line('two')}`);
  });
});

/** A writer whose `close` waits for nothing. */
const closingAtOnce = (destination: string): RecordWriter<'strict'> =>
  new RecordWriter(readWriterOptions({ destination, sync: false }), {
    ...systemClock,
    sleep: () => Promise.resolve(),
  });

test('a full disk with sync: false counts a record once when it is written after the deadline of close', async () => {
  const writer = closingAtOnce('/dev/full');
  writer.write(smallRecord('one'));
  writer.write(smallRecord('two'));
  await writer.close();
  const counted = { dropped: 2, failed: 0, written: 0, pending: 0, lastError: undefined };
  expect(await writer.stats()).toMatchObject(counted);
  while (openOn('/dev/full') > 0) await tick();
  expect(await writer.stats()).toMatchObject(counted);
});

// Three bytes of UTF-8 in one character: characters would be counted wrongly.
const BYTES = Buffer.byteLength(line('€'));

test.each([
  { maxBufferBytes: 2 * BYTES - 1, pending: 1, dropped: 2 },
  { maxBufferBytes: 2 * BYTES, pending: 2, dropped: 1 },
])('maxBufferBytes of $maxBufferBytes keeps $pending lines of three', async (given) => {
  const { maxBufferBytes, pending, dropped } = given;
  const { text, writer } = fileWriter({ maxBufferBytes });
  for (let index = 0; index < 3; index += 1) writer.write(smallRecord('€'));
  expect(await writer.stats()).toMatchObject({ pending, dropped, written: 0, failed: 0 });
  await writer.flush();
  expect(await writer.stats()).toMatchObject({ pending: 0, dropped, written: pending });
  for (let index = 0; index < 3; index += 1) writer.write(smallRecord('€'));
  await writer.close();
  expect(await writer.stats()).toMatchObject({ dropped: 2 * dropped, written: 2 * pending });
  expect(parseLines(text())).toHaveLength(2 * pending);
});

test('a socket of the caller is not reopened with sync: false, and stays open', async () => {
  const server = createServer();
  const port = await listenOn(server);
  const accepted = once(server, 'connection') as Promise<Socket[]>;
  const client = connect(port, '127.0.0.1');
  const [received] = (await accepted) as [Socket];
  onTestFinished(() => void client.destroy());
  const { fd } = (client as unknown as { _handle: { fd: number } })['_handle'];
  const writer = createLogWriter({ destination: fd, sync: false });
  const arrived = once(received, 'data');
  writer.write(smallRecord('one'));
  await writer.close();
  expect(String(await arrived)).toBe(line('one'));
  const ended = once(received, 'end');
  client.end('mine');
  await ended;
});

describe('a pipe without a reader, with sync: false', () => {
  const NAME = 'x'.repeat(30_000);

  test('never blocks write, drops lines beyond maxBufferBytes, and continues when it is read', async () => {
    const { path, fd } = stalledPipe();
    const writer = createLogWriter({ destination: path, sync: false, maxBufferBytes: 200_000 });
    for (let index = 0; index < 10; index += 1) writer.write(smallRecord(NAME));
    expect(await writer.stats()).toMatchObject({ pending: 6, dropped: 4 });
    expect(await readUntil(fd, writer.flush())).toBe(line(NAME).repeat(6));
    expect(await writer.stats()).toMatchObject({ pending: 0, written: 6, dropped: 4, failed: 0 });
    await writer.close();
    expect(openOn(path)).toBe(1);
  });

  test('continues by itself when it is read again after a second of stall', async () => {
    const { fd } = stalledPipe();
    const slept: number[] = [];
    const idled: number[] = [];
    const clock: Clock = {
      ...systemClock,
      sleep: (ms) => {
        slept.push(ms);
        return Promise.resolve();
      },
      sleepUnref: (ms, signal) => {
        idled.push(ms);
        return systemClock.sleepUnref(ms, signal);
      },
    };
    const writer = new RecordWriter(readWriterOptions({ destination: fd, sync: false }), clock);
    for (let index = 0; index < 10; index += 1) writer.write(smallRecord(NAME));
    while (idled.length < 2) await tick();
    const held = slept.reduce((sum, ms) => sum + ms, 0);
    expect(held).toBeGreaterThanOrEqual(1000);
    expect(held).toBeLessThan(1050);
    expect(slept.slice(0, 5)).toEqual([1, 2, 4, 8, 16]);
    expect(Math.max(...slept)).toBe(50);
    expect((await writer.stats()).pending).toBeGreaterThan(5);

    let text = '';
    while ((await writer.stats()).pending > 0) {
      text += readNow(fd);
      await tick();
    }
    expect(text + readNow(fd)).toBe(line(NAME).repeat(10));
    expect(await writer.stats()).toMatchObject({ written: 10, dropped: 0, failed: 0 });
    expect(new Set(idled)).toEqual(new Set([100]));
  });

  test('keeps the process alive while a flush waits', async () => {
    const { fd } = stalledPipe();
    const idled: number[] = [];
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => (idled.length > 0 ? systemClock.sleep(ms, signal) : Promise.resolve()),
      // Never over by itself: only a flush can end it.
      sleepUnref: (ms, signal) => {
        idled.push(ms);
        return systemClock.sleepUnref(3_600_000, signal);
      },
    };
    const writer = new RecordWriter(readWriterOptions({ destination: fd, sync: false }), clock);
    for (let index = 0; index < 5; index += 1) writer.write(smallRecord(NAME));
    while (idled.length === 0) await tick();
    expect(await readUntil(fd, writer.flush())).toBe(line(NAME).repeat(5));
    expect(await writer.stats()).toMatchObject({ written: 5, pending: 0 });
  });

  test('gets the next record on a new line after its reader closed within a line', async () => {
    const path = namedPipe();
    const openReader = (): number => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const first = openReader();
    // The pipe keeps unread bytes while its writer has it open.
    const writer = createLogWriter({ destination: path, sync: false });
    writer.write(smallRecord('x'.repeat(200_000)));
    // Read once, and less than a page: what else the first write left must still be there when the
    // reader goes. Read to the end, the pipe was empty then, unless the writer had been quick.
    while (readSome(first, 2000) === '') await tick();
    closeSync(first);
    await writer.flush();
    expect(await writer.stats()).toMatchObject({
      failed: 1,
      lastError: { cause: { code: 'EPIPE' } },
    });
    const second = openReader();
    onTestFinished(() => closeSync(second));
    writer.write(smallRecord('two'));
    const flushed = writer.flush();
    // The torn line may still fill the pipe, so that the next one has to wait.
    for (let index = 0; index < 20; index += 1) await tick();
    const text = await readUntil(second, flushed);
    expect(text.split('\n').slice(1)).toEqual([line('two').trimEnd(), '']);
    expect(text).toMatch(/^x+\n/);
    await writer.close();
  });

  test('is released at once when it is closed during a write', async () => {
    const { path, fd } = stalledPipe();
    fill(fd);
    const writer = closingAtOnce(path);
    writer.write(smallRecord('one'));
    const flushed = writer.flush();
    await writer.close();
    await flushed;
    expect(await writer.stats()).toMatchObject({ dropped: 1, pending: 0, failed: 0 });
    while (openOn(path) > 1) await tick();
    readNow(fd);
    await tick();
    expect(readNow(fd)).toBe('');
    expect(await writer.stats()).toMatchObject({ dropped: 1, pending: 0, written: 0, failed: 0 });
  });
});
