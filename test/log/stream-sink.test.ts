import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { type DestinationStream, pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { LogDestination } from '../../src/log/open-sink.ts';
import { createLogWriter, RecordWriter } from '../../src/log/writer.ts';
import { readWriterOptions } from '../../src/log/writer-options.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { smallRecord } from '../helpers/log-records.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';
import { thrownBy } from '../helpers/thrown-by.ts';

const line = (name = 'shop'): string => `${JSON.stringify(smallRecord(name))}\n`;

const memory = () => {
  const lines: string[] = [];
  return { lines, stream: { write: (text: string): void => void lines.push(text) } };
};

const turn = () => new Promise((resolve) => setImmediate(resolve));

const inBackground = (destination: LogDestination, maxBufferBytes?: number) =>
  createLogWriter({ destination, sync: false, maxBufferBytes });

/** A writer in the background with one line so far. */
function written(destination: LogDestination, maxBufferBytes?: number) {
  const writer = inBackground(destination, maxBufferBytes);
  writer.write(smallRecord());
  return writer;
}

const logFile = (): string => join(temporaryFolder(), 'events.log');

/** A pino destination on a file that is ready to write. */
async function sonicBoom(options: { sync: boolean; minLength?: number; maxLength?: number }) {
  const path = logFile();
  const stream = pino.destination({ dest: path, ...options });
  await new Promise((resolve) => stream.once('ready', resolve));
  onTestFinished(() => stream.destroy());
  return { path, stream };
}

const transport = (more: { readonly minLength?: number } = {}) => {
  const path = logFile();
  const options = { destination: path, ...more };
  const stream = pino.transport({ target: 'pino/file', options }) as {
    end(): void;
  } & DestinationStream;
  const logger = pino(stream);
  onTestFinished(() => stream.end());
  return { path, logger };
};

/** A stream whose writes last until the test ends them. */
function slowStream() {
  const received: string[] = [];
  const release: ((error?: Error) => void)[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      received.push(chunk.toString());
      release.push(done);
    },
  });
  return { stream, release, received };
}

/** A writer whose `close` waited for nothing. */
async function closedWithPendingLine() {
  const { stream, release } = slowStream();
  const clock = { ...systemClock, sleep: () => Promise.resolve() };
  const writer = new RecordWriter(readWriterOptions({ destination: stream, sync: false }), clock);
  writer.write(smallRecord());
  await writer.close();
  return { stream, release, writer };
}

/** How many listeners for faults sit on an emitter. */
const listeners = (emitter: { listenerCount(event: string): number }): number =>
  emitter.listenerCount('error') + emitter.listenerCount('drop');

describe('a pino logger', () => {
  test.each<[string, pino.LoggerOptions]>([
    ['its level', { level: 'fatal' }],
    ['redaction', { redact: ['context.service.name', 'payload'] }],
  ])('is used without %s', (_name, options) => {
    const { lines, stream } = memory();
    createLogWriter({ destination: pino(options, stream) }).write(smallRecord());
    expect(lines).toEqual([line()]);
  });

  test('is recognised if it comes from another copy of pino', () => {
    const { lines, stream } = memory();
    const parent = { [Symbol('pino.stream')]: stream, level: 'info', bindings: () => ({}) };
    const child = Object.create(parent) as typeof parent;
    createLogWriter({ destination: child }).write(smallRecord());
    expect(lines).toEqual([line()]);
  });
});

describe('pino.multistream', () => {
  test('passes a record to streams of all levels', () => {
    const one = memory();
    const two = memory();
    const many = pino.multistream([
      { level: 'trace', stream: one.stream },
      { level: 'fatal', stream: two.stream },
    ]);
    createLogWriter({ destination: pino({ level: 'error' }, many) }).write(smallRecord());
    expect([one.lines, two.lines]).toEqual([[line()], [line()]]);
  });

  test('does not pass on the metadata of the host’s last line', () => {
    const seen: unknown[] = [];
    const stream = {
      [Symbol.for('pino.metadata')]: true,
      lastObj: { of: 'the host' },
      lastMsg: 'the host',
      write(this: { lastObj: unknown; lastMsg: unknown }, text: string) {
        seen.push([this.lastObj, this.lastMsg, text]);
      },
    };
    createLogWriter({ destination: stream }).write(smallRecord());
    expect(seen).toEqual([[undefined, undefined, line()]]);
  });
});

const nullStream = () => createWriteStream('/dev/null');
const notSynchronous = (reason: string) => ({
  code: 'ERR_DESTINATION_NOT_SYNCHRONOUS',
  path: ['destination'],
  message: expect.stringContaining(reason) as string,
});

describe('with sync: true', () => {
  test.each<[string, () => LogDestination, string]>([
    ['a pino destination', () => pino.destination('/dev/null'), 'not made with `sync: true`'],
    [
      'a pino destination that keeps bytes back',
      () => pino.destination({ dest: '/dev/null', sync: true, minLength: 4096 }),
      'keeps `minLength` bytes back',
    ],
    ['a pino transport', () => transport().logger, 'in a worker thread'],
    ['a stream that can be flushed', () => ({ ...memory().stream, flushSync() {} }), 'a worker'],
    ['a file stream', nullStream, 'queues lines'],
    [
      'a multistream that holds an asynchronous stream',
      () => pino({}, pino.multistream([memory().stream, nullStream()])),
      'queues lines',
    ],
  ])('%s is rejected when the writer is created', (_name, make, reason) => {
    const destination = make();
    const error = thrownBy(() => createLogWriter({ destination }));
    expect(error).toMatchObject(notSynchronous(reason));
  });

  test('a write that returns a promise fails at the first record', async () => {
    const record = smallRecord();
    const destination = { write: () => Promise.reject(new Error('late')) };
    const writer = createLogWriter({ destination });
    const error = thrownBy(() => writer.write(record));
    expect(error).toMatchObject(notSynchronous('returned a promise'));
    expect(error.input).toBe(record);
    const counted = { failed: 1, written: 0, pending: 0, lastError: error };
    expect(await writer.stats()).toMatchObject(counted);
    await turn();
  });

  test('a synchronous pino destination has the line when write returns', async () => {
    const { path, stream } = await sonicBoom({ sync: true });
    const writer = createLogWriter({ destination: pino(stream) });
    writer.write(smallRecord());
    expect(readFileSync(path, 'utf8')).toBe(line());
    await writer.flush();
    await writer.close();
    stream.write('the host goes on\n');
    expect(readFileSync(path, 'utf8')).toBe(`${line()}the host goes on\n`);
  });

  test('a write that throws is reported, and the next record is tried again', async () => {
    const cause = Object.assign(new Error('full'), { code: 'ENOSPC' });
    const lines: string[] = [];
    const record = smallRecord('secret-name');
    const write = (text: string) => {
      if (lines.push(text) === 1) throw cause;
    };
    const writer = createLogWriter({ destination: { write } });
    const error = thrownBy(() => writer.write(record));
    expect(error).toMatchObject({ code: 'ERR_WRITE_FAILED', kind: 'environment' });
    expect(error.cause).toBe(cause);
    expect(error.input).toBe(record);
    expect(error.message).toContain('could not be written: ENOSPC. See');
    expect(error.message).not.toContain('secret-name');
    writer.write(smallRecord('two'));
    expect(lines).toEqual([line('secret-name'), line('two')]);
    expect(await writer.stats()).toMatchObject({ failed: 1, written: 1, lastError: error });
  });

  test('a thrown proxy is reported, too', async () => {
    const cause = new Proxy({}, { getPrototypeOf: () => JSON.parse('{') as null });
    const write = () => {
      throw cause;
    };
    const writer = createLogWriter({ destination: { write } });
    expect(thrownBy(() => writer.write(smallRecord())).code).toBe('ERR_WRITE_FAILED');
    expect(await writer.stats()).toMatchObject({ failed: 1, written: 0 });
  });

  test('a line above the maxLength of a pino destination is a failure', async () => {
    const { path, stream } = await sonicBoom({ sync: true, maxLength: 50 });
    const writer = createLogWriter({ destination: stream });
    const error = thrownBy(() => writer.write(smallRecord()));
    expect(error.cause).toMatchObject({ message: expect.stringContaining('maxLength') as string });
    expect(readFileSync(path, 'utf8')).toBe('');
    expect(await writer.stats()).toMatchObject({ failed: 1, dropped: 0 });
  });
});

describe('with sync: false', () => {
  test('a transport with several targets is rejected, since it loses lines without a level', () => {
    const target = { target: 'pino/file', options: { destination: logFile() } };
    const stream = pino.transport({ targets: [target, target] }) as { end(): void };
    onTestFinished(() => stream.end());
    expect(thrownBy(() => inBackground(stream as never))).toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: ['destination'],
      message: expect.stringContaining('without a `level`') as string,
    });
  });

  test('a pino transport gets the line, at the latest by flush', async () => {
    // It keeps the line back until it is flushed. Without that, sonic-boom in its worker answers a
    // flush at once, while it may still be writing, which cannot be detected here.
    const { path, logger } = transport({ minLength: 4096 });
    const writer = written(logger);
    await writer.flush();
    expect(readFileSync(path, 'utf8')).toBe(line());
    expect(await writer.stats()).toMatchObject({ written: 1, pending: 0 });
  });

  test.each([
    { sync: false, minLength: 0 },
    { sync: false, minLength: 4096 },
    { sync: true, minLength: 4096 },
  ])('a pino destination with %o has the line when flush resolves', async (options) => {
    const { path, stream } = await sonicBoom(options);
    const writer = written(stream);
    writer.write(smallRecord('two'));
    await writer.flush();
    expect(readFileSync(path, 'utf8')).toBe(line() + line('two'));
    await writer.flush();
    expect(await writer.stats()).toMatchObject({ written: 2, pending: 0, lastError: undefined });
  });

  test('lines above the maxLength of a pino destination are counted as dropped', async () => {
    const { stream } = await sonicBoom({ sync: false, maxLength: 50 });
    expect(await written(stream).stats()).toMatchObject({ dropped: 1, written: 0, failed: 0 });
  });

  test.each<[string, (stream: Writable) => LogDestination]>([
    ['a file stream', (stream) => stream],
    ['a file stream behind multistream', (stream) => pino({}, pino.multistream([stream]))],
  ])('%s is flushed, and stays open', async (_name, destinationOf) => {
    const path = logFile();
    const stream = createWriteStream(path);
    onTestFinished(() => void stream.destroy());
    const writer = written(destinationOf(stream));
    await writer.close();
    expect(readFileSync(path, 'utf8')).toBe(line());
    expect(await writer.stats()).toMatchObject({ pending: 0, written: 1 });
    expect(stream.destroyed).toBe(false);
  });

  test('a stream that fails later loses its records, and does not crash the host', async () => {
    const cause = Object.assign(new Error('full'), { code: 'ENOSPC' });
    const stream = new Writable({ write: (_chunk, _encoding, done) => done(cause) });
    const writer = written(stream);
    await writer.flush();
    expect(await writer.stats()).toMatchObject({ failed: 1, pending: 0, lastError: { cause } });
    expect(thrownBy(() => writer.write(smallRecord())).cause).toMatchObject({
      message: 'the stream is destroyed',
    });
    expect(await writer.stats()).toMatchObject({ failed: 2 });
  });

  test('a stream that the host has ended keeps what the host wrote to it', async () => {
    const { stream, release, received } = slowStream();
    const writer = inBackground(stream);
    stream.write('host 1');
    stream.write('host 2');
    stream.end();
    expect(thrownBy(() => writer.write(smallRecord())).cause).toMatchObject({
      message: 'the stream has been ended',
    });
    const isFlushed = writer.flush().then(() => true);
    expect(await Promise.race([isFlushed, Promise.resolve(false)])).toBe(false);
    while (!stream.writableFinished) {
      for (const done of release.splice(0)) done();
      await turn();
    }
    expect(await isFlushed).toBe(true);
    expect(received).toEqual(['host 1', 'host 2']);
    expect(await writer.stats()).toMatchObject({ failed: 1, written: 0, pending: 0 });
    await writer.close();
  });

  test('a stream that the host has destroyed is not waited for', async () => {
    const stream = new Writable({ write: () => {} });
    const writer = inBackground(stream);
    stream.write('host 1');
    stream.destroy();
    await writer.flush();
    await writer.close();
    expect(await writer.stats()).toMatchObject({ lastError: undefined });
  });

  test('a stream without a reader accepts lines up to maxBufferBytes', async () => {
    const { stream, release } = slowStream();
    const writer = inBackground(stream, 2 * Buffer.byteLength(line('€')));
    for (let index = 0; index < 3; index += 1) writer.write(smallRecord('€'));
    expect(await writer.stats()).toMatchObject({ pending: 2, dropped: 1, written: 0 });
    const flushed = writer.flush();
    while ((await writer.stats()).pending > 0) {
      for (const done of release.splice(0)) done();
      await turn();
    }
    await flushed;
    expect(await writer.stats()).toMatchObject({ pending: 0, dropped: 1, written: 2 });
  });

  test('promises are awaited, up to maxBufferBytes', async () => {
    const settle: { resolve(): void; reject(cause: unknown): void }[] = [];
    const write = () =>
      new Promise<void>((resolve, reject) => {
        settle.push({ resolve, reject });
      });
    const writer = inBackground({ write }, 2 * Buffer.byteLength(line('€')));
    for (let index = 0; index < 3; index += 1) writer.write(smallRecord('€'));
    expect(await writer.stats()).toMatchObject({ pending: 2, dropped: 1 });
    const cause = new Error('late');
    settle[0]?.resolve();
    settle[1]?.reject(cause);
    await writer.flush();
    expect(await writer.stats()).toMatchObject({ pending: 0, written: 1, failed: 1, dropped: 1 });
    expect((await writer.stats()).lastError?.cause).toBe(cause);
    writer.write(smallRecord('€'));
    expect(await writer.stats()).toMatchObject({ pending: 1, dropped: 1 });
  });

  test('a stream whose own flush fails makes flush reject; the next one reports the lost records', async () => {
    const cause = new Error('worker gone');
    const causes = [cause];
    const { stream } = memory();
    const destination = Object.assign(stream, {
      flushSync: () => {},
      flush: (done: (error?: Error) => void) => done(causes.pop()),
    });
    const writer = written(destination, 1);
    await expect(writer.flush()).rejects.toMatchObject({ code: 'ERR_WRITE_FAILED', cause });
    expect(await writer.stats()).toMatchObject({ failed: 0, dropped: 1, lastError: { cause } });
    const error = expect.objectContaining({ message: expect.stringContaining('buffer was full') });
    expect(await writer.flush()).toEqual({ lost: 1, error });
    expect(await writer.flush()).toEqual({ lost: 0 });
  });

  test('a stream that buffers but has no flush is not flushed', async () => {
    const { lines, stream } = memory();
    const destination = Object.assign(stream, { flushSync: () => {} });
    const writer = written(destination);
    expect(await writer.stats()).toMatchObject({ written: 1, pending: 0 });
    await writer.flush();
    expect(lines).toEqual([line()]);
  });
});

describe('listeners', () => {
  test('are on the host’s stream until close', async () => {
    const { stream } = await sonicBoom({ sync: true });
    const before = listeners(stream);
    const writer = createLogWriter({ destination: pino({}, pino.multistream([stream])) });
    expect(listeners(stream)).toBe(before + 2);
    await writer.close();
    expect(listeners(stream)).toBe(before);
  });

  test('stay after close until the dropped lines have failed or been written', async () => {
    const { stream, release, writer } = await closedWithPendingLine();
    expect(await writer.stats()).toMatchObject({ dropped: 1, pending: 0 });
    expect(listeners(stream)).toBe(2);
    release[0]?.();
    await turn();
    expect(listeners(stream)).toBe(0);
    expect(await writer.stats()).toMatchObject({ dropped: 1, written: 0, failed: 0 });
  });

  test('prevent a crash when the stream fails after close, which is not counted', async () => {
    const { stream, release, writer } = await closedWithPendingLine();
    release[0]?.(new Error('late'));
    await turn();
    expect(stream.destroyed).toBe(true);
    expect(await writer.stats()).toMatchObject({ dropped: 1, failed: 0, lastError: undefined });
  });

  test('stay after close when the stream has failed, which it emits later', async () => {
    const cause = new Error('full');
    const stream = new Writable({ write: (_chunk, _encoding, done) => done(cause) });
    const writer = written(stream);
    await writer.close();
    await turn();
    expect(await writer.stats()).toMatchObject({ failed: 1, lastError: { cause } });
  });

  test('are not added to an object without an on method', async () => {
    const { lines, stream } = memory();
    const writer = createLogWriter({ destination: Object.assign(stream, { on: 1, off: 1 }) });
    writer.write(smallRecord());
    await writer.close();
    expect(lines).toEqual([line()]);
  });
});
