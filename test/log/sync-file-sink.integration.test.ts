import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { logFixtureCommand, startChild, waitForExit } from '../helpers/child-programs.ts';
import { parseLines, smallRecord } from '../helpers/log-records.ts';
import {
  descriptorsOf,
  namedPipe,
  stalledPipe,
  temporaryFolder,
} from '../helpers/temporary-files.ts';
import { thrownBy } from '../helpers/thrown-by.ts';

/** The user id of `nobody` on most systems. */
const NOBODY = 65_534;

const line = (name: string): string => `${JSON.stringify(smallRecord(name))}\n`;

const logFile = (): string => join(temporaryFolder(), 'events.log');

/** A writer on a new file. */
function fileWriter() {
  const path = logFile();
  const text = () => readFileSync(path, 'utf8');
  return { path, text, writer: createLogWriter({ destination: path }) };
}

/** Runs log-full.ts where a file may have 16 blocks. */
async function meetTheLimit(mode: string) {
  const path = logFile();
  const script = 'ulimit -f 16; exec "$@"';
  const command = logFixtureCommand('full', [path, mode]);
  const end = await waitForExit(startChild(['sh', '-c', script, 'sh', ...command]));
  return { ...end, text: readFileSync(path, 'utf8') };
}

/** The flag of Node's permission model, which forbids fsync. */
const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';

test("A file is written, flushed and closed under Node's permission model", async () => {
  const path = logFile();
  const [node = '', ...program] = logFixtureCommand('append', [path, 'one', '1']);
  const flags = [PERMISSION, '--allow-fs-read=*', '--allow-fs-write=*'];
  const { code, stderr } = await waitForExit(startChild([node, ...flags, ...program]));
  expect(stderr).not.toContain('ERR_WRITE_FAILED');
  expect(code).toBe(0);
  expect(readFileSync(path, 'utf8')).toBe(line('one-0'));
});

describe('a file by path', () => {
  test('is created, and each line is appended before write returns', async () => {
    const { text, writer } = fileWriter();
    expect(text()).toBe('');
    writer.write(smallRecord('one'));
    expect(text()).toBe(line('one'));
    writer.write(smallRecord('two'));
    expect(text()).toBe(line('one') + line('two'));
    expect(await writer.stats()).toMatchObject({ written: 2, pending: 0, failed: 0 });
  });

  test('gets a line feed first, once, if a crash tore its last line', () => {
    const path = logFile();
    writeFileSync(path, '{"torn":');
    const writer = createLogWriter({ destination: path });
    writer.write(smallRecord('one'));
    writer.write(smallRecord('two'));
    expect(readFileSync(path, 'utf8')).toBe(`{"torn":\n${line('one')}${line('two')}`);
  });

  test('continues at its beginning after copytruncate', () => {
    const { path, text, writer } = fileWriter();
    writer.write(smallRecord('one'));
    writeFileSync(path, '');
    writer.write(smallRecord('two'));
    expect(text()).toBe(line('two'));
  });

  test('still gets lines after a rename, until a new writer is created', () => {
    const { path, writer } = fileWriter();
    renameSync(path, `${path}.1`);
    writer.write(smallRecord('one'));
    createLogWriter({ destination: path }).write(smallRecord('two'));
    expect(readFileSync(`${path}.1`, 'utf8')).toBe(line('one'));
    expect(readFileSync(path, 'utf8')).toBe(line('two'));
  });

  test('fails with the reason while its descriptor or folder is gone, and recovers', async () => {
    const folder = temporaryFolder();
    const path = join(folder, 'events.log');
    const writer = createLogWriter({ destination: path });
    for (const fd of descriptorsOf(path)) closeSync(fd);
    expect(thrownBy(() => writer.write(smallRecord('one'))).cause).toMatchObject({ code: 'EBADF' });
    renameSync(folder, `${folder}.away`);
    expect(thrownBy(() => writer.write(smallRecord('two'))).cause).toMatchObject({
      code: 'ENOENT',
    });
    renameSync(`${folder}.away`, folder);
    writer.write(smallRecord('three'));
    expect(readFileSync(path, 'utf8')).toBe(line('three'));
    await writer.close();
    expect(descriptorsOf(path)).toEqual([]);
  });

  // Texts of up to 64 Ki characters are written as texts, longer ones as bytes.
  test.each([-1, 0, 1])('gets lines of 65536 and %i characters whole, in UTF-8', (more) => {
    const { text, writer } = fileWriter();
    const name = 'é'.repeat(65_536 + more - line('').length);
    writer.write(smallRecord(name));
    writer.write(smallRecord('two'));
    expect(line(name)).toHaveLength(65_536 + more);
    expect(text() === line(name) + line('two')).toBe(true);
  });

  test('is synced by flush and closed by close, which leave no descriptor', async () => {
    const { path, writer } = fileWriter();
    writer.write(smallRecord('one'));
    await writer.flush();
    expect(descriptorsOf(path)).toHaveLength(1);
    await writer.close();
    expect(descriptorsOf(path)).toEqual([]);
    await writer.flush();
  });

  test('makes flush reject if the sync fails', async () => {
    const { path, writer } = fileWriter();
    for (const fd of descriptorsOf(path)) closeSync(fd);
    const failure = { code: 'ERR_WRITE_FAILED', cause: { code: 'EBADF' } };
    await expect(writer.flush()).rejects.toMatchObject(failure);
    expect((await writer.stats()).lastError).toMatchObject(failure);
    await writer.close();
    expect(thrownBy(() => writer.write(smallRecord())).code).toBe('ERR_WRITER_CLOSED');
  });

  // Root must change its user for this, which only a main thread may.
  test.skipIf(!isMainThread)('may be write-only; then a torn end is not detected', () => {
    const folder = temporaryFolder();
    const path = join(folder, 'events.log');
    writeFileSync(path, 'torn');
    chmodSync(folder, 0o755);
    chmodSync(path, 0o200);
    // Root may read every file.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) {
      chownSync(path, NOBODY, NOBODY);
      process.seteuid?.(NOBODY);
    }
    try {
      createLogWriter({ destination: path }).write(smallRecord('one'));
    } finally {
      if (isRoot) process.seteuid?.(0);
    }
    chmodSync(path, 0o600);
    expect(readFileSync(path, 'utf8')).toBe(`torn${line('one')}`);
  });
});

test('two processes that append to one file keep every line whole', async () => {
  const path = logFile();
  const ends = await Promise.all(
    ['left', 'right'].map((name) =>
      waitForExit(startChild(logFixtureCommand('append', [path, name, '500']))),
    ),
  );
  expect(ends.map(({ code }) => code)).toEqual([0, 0]);
  const contexts = parseLines(readFileSync(path, 'utf8')).map(({ context }) => context);
  expect(contexts).toHaveLength(1000);
  expect(new Set(contexts.map((context) => JSON.stringify(context))).size).toBe(1000);
});

describe('a destination that fails', () => {
  test('loses only the torn line of a full disk, synchronous or not', async () => {
    const results = await Promise.all(['sync', 'buffered'].map(meetTheLimit));
    for (const { stderr, stdout, text } of results) {
      expect(stderr).toBe('');
      expect(JSON.parse(stdout)).toMatchObject({
        first: 'written',
        torn: expect.stringContaining('EFBIG') as string,
        refused: expect.stringContaining('EFBIG') as string,
        stats: { written: 2, failed: 2, pending: 0 },
      });
      const [first, torn, last, ...rest] = text.split('\n');
      expect(`${first}\n`).toBe(line('first'));
      expect(torn?.startsWith('{"context":')).toBe(true);
      expect(`${last}\n`).toBe(line('last'));
      expect(rest).toEqual(['']);
    }
  });

  test('reports a broken pipe as EPIPE, and writes again when it has a reader', async () => {
    const path = namedPipe();
    const firstReader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = createLogWriter({ destination: path });
    closeSync(firstReader);
    expect(thrownBy(() => writer.write(smallRecord('one'))).cause).toMatchObject({ code: 'EPIPE' });
    const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(reader));
    writer.write(smallRecord('two'));
    const bytes = Buffer.alloc(1000);
    expect(bytes.toString('utf8', 0, readSync(reader, bytes))).toBe(line('two'));
    expect(await writer.stats()).toMatchObject({ written: 1, failed: 1 });
  });
});

test('a descriptor of the caller stays open after close, and is not reopened', async () => {
  const path = logFile();
  const fd = openSync(path, 'a');
  const writer = createLogWriter({ destination: fd });
  writer.write(smallRecord('one'));
  await writer.close();
  appendFileSync(fd, 'mine\n');
  expect(readFileSync(path, 'utf8')).toBe(`${line('one')}mine\n`);
  const other = createLogWriter({ destination: fd });
  closeSync(fd);
  for (const name of ['two', 'three']) {
    expect(thrownBy(() => other.write(smallRecord(name))).cause).toMatchObject({ code: 'EBADF' });
  }
});

test('a slow reader gets the whole line without busy waiting', async () => {
  const { path } = stalledPipe();
  const copy = join(temporaryFolder(), 'copy');
  const big = line('x'.repeat(1_000_000));
  const script = 'sleep 0.5; exec head -c "$1" "$2" > "$3"';
  const writer = createLogWriter({ destination: path });
  // Before the reader starts to sleep, so that it cannot have read earlier even on a slow machine.
  const startedMs = performance.now();
  const reader = startChild(['sh', '-c', script, 'sh', String(big.length), path, copy]);
  const ended = waitForExit(reader);
  const before = process.cpuUsage();
  writer.write(smallRecord('x'.repeat(1_000_000)));
  const waitedMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(before);
  await ended;
  expect(readFileSync(copy, 'utf8')).toBe(big);
  expect(waitedMs).toBeGreaterThan(300);
  expect((user + system) / 1000).toBeLessThan(waitedMs / 2);
});
