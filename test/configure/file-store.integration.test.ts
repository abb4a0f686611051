import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import * as nodeFiles from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { LockSystem } from '../../src/configure/file-lock.ts';
import { fileStore } from '../../src/configure/file-store.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { fixtureCommand, runFixture } from '../helpers/child-programs.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';

const fileIn = (path: string): string => join(path, 'settings.json');

const system = (files: Partial<LockSystem['files']> = {}): LockSystem => ({
  files: { ...nodeFiles, ...files },
  clock: systemClock,
  random: () => 0.5,
});

/** Writes `new` to the settings in a folder. */
const writeIn = (path: string, files?: Partial<LockSystem['files']>): Promise<void> =>
  fileStore(fileIn(path), system(files)).update(() => 'new');

const failing = (code: string) => async (): Promise<never> => {
  throw Object.assign(new Error(code), { code });
};

/** Fails for the settings; the lock can be read. */
const unreadable = (name: string, options?: BufferEncoding): Promise<unknown> =>
  name.endsWith('.json') ? failing('EIO')() : nodeFiles.readFile(name, options);

const openUnwritable: LockSystem['files']['open'] = async (name, flags, mode) =>
  Object.assign(await nodeFiles.open(name, flags, mode), { writeFile: failing('ENOSPC') });

/** Removes a lock just before it is renamed. */
const renameWithoutLock: LockSystem['files']['rename'] = async (from, to) => {
  if (String(from).endsWith('.lock')) await nodeFiles.unlink(from);
  await nodeFiles.rename(from, to);
};

const openFilesAlone: LockSystem['files']['open'] = async (path, flags, mode) => {
  if (flags === 'r') throw new Error('EISDIR');
  return nodeFiles.open(path, flags, mode);
};

describe('a file', () => {
  test('is refused, and left as it is, when it is no file', async () => {
    const file = fileIn(temporaryFolder());
    execFileSync('mkfifo', [file]);
    const store = fileStore(file);
    const refusal = { code: 'ERR_SETTINGS_FAILED', message: expect.stringContaining('not a file') };
    await expect(store.read()).rejects.toMatchObject(refusal);
    await expect(store.update(() => '{}')).rejects.toMatchObject(refusal);
    expect(statSync(file).isFIFO()).toBe(true);
  });

  test('is created by the first change, readable only by its owner', async () => {
    const path = temporaryFolder();
    const store = fileStore(fileIn(path));
    expect(await store.read()).toBeUndefined();
    await store.update((text) => `${String(text)} before`);
    expect(await store.read()).toBe('undefined before');
    expect(readdirSync(path)).toEqual(['settings.json']);
    expect(statSync(fileIn(path)).mode & 0o777).toBe(0o600);
  });

  test('is readable only by its owner after a change', async () => {
    const file = fileIn(temporaryFolder());
    writeFileSync(file, 'old', { mode: 0o644 });
    await fileStore(file).update((text) => `${String(text)}er`);
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['older', 0o600]);
  });

  test.each<[string, (text: string | undefined) => string | undefined]>([
    ['returns the same text', (text) => text],
    ['returns undefined', () => undefined],
  ])('is not written if `change` %s', async (_what, change) => {
    const file = fileIn(temporaryFolder());
    writeFileSync(file, 'old');
    const before = statSync(file, { bigint: true });
    await fileStore(file).update(change);
    const { ino, ctimeNs } = statSync(file, { bigint: true });
    expect([ino, ctimeNs]).toEqual([before.ino, before.ctimeNs]);
  });

  test('is unchanged when `change` throws, and no other files remain', async () => {
    const path = temporaryFolder();
    writeFileSync(fileIn(path), 'old');
    const store = fileStore(fileIn(path));
    const error = new RangeError('of the change');
    await expect(
      store.update(() => {
        throw error;
      }),
    ).rejects.toBe(error);
    await store.update((text) => `${String(text)}er`);
    expect([readdirSync(path), await store.read()]).toEqual([['settings.json'], 'older']);
  });

  test('behind a link is replaced, and the link stays', async () => {
    const path = temporaryFolder();
    mkdirSync(join(path, 'real'));
    writeFileSync(join(path, 'real/real.json'), 'old');
    symlinkSync('real/real.json', fileIn(path));
    await writeIn(path);
    expect(readlinkSync(fileIn(path))).toBe('real/real.json');
    expect(readFileSync(join(path, 'real/real.json'), 'utf8')).toBe('new');
    expect(readdirSync(join(path, 'real'))).toEqual(['real.json']);
  });

  test.each<[string, readonly string[]]>([
    ['one link', ['real.json']],
    ['two links', ['other.json', 'real.json']],
  ])('behind %s without a target is created there, and links stay', async (_what, names) => {
    const path = temporaryFolder();
    mkdirSync(join(path, 'real'));
    symlinkSync(`real/${names[0]}`, fileIn(path));
    if (names[1] !== undefined) symlinkSync(names[1], join(path, 'real', names[0] ?? ''));
    await writeIn(path);
    expect(readlinkSync(fileIn(path))).toBe(`real/${names[0]}`);
    expect(readdirSync(join(path, 'real'))).toEqual(names);
    expect(await fileStore(fileIn(path)).read()).toBe('new');
  });

  test('stays the same after process.chdir', async () => {
    const path = temporaryFolder();
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(path);
    onTestFinished(() => cwd.mockRestore());
    const store = fileStore('settings.json');
    cwd.mockRestore();
    await store.update(() => 'new');
    expect(readFileSync(fileIn(path), 'utf8')).toBe('new');
  });

  test('that is not UTF-8 is not changed, since its bytes would be lost', async () => {
    const file = fileIn(temporaryFolder());
    const bytes = Buffer.from('caf\u00e9', 'latin1');
    writeFileSync(file, bytes);
    const store = fileStore(file);
    for (const use of [store.read(), store.update((text) => `${String(text)}!`)]) {
      await expect(use).rejects.toMatchObject({
        code: 'ERR_SETTINGS_FAILED',
        message: expect.stringContaining('expected UTF-8') as string,
      });
    }
    expect(readFileSync(file)).toEqual(bytes);
  });

  test.each<[string, number, readonly unknown[]]>([
    ['of another user keeps its owner', 1, [[(process.geteuid?.() ?? 0) + 1, 7]]],
    ['of this user keeps its owner', 0, []],
  ])('%s', async (_what, by, expected) => {
    const path = temporaryFolder();
    writeFileSync(fileIn(path), 'old');
    const owners: unknown[] = [];
    const open: LockSystem['files']['open'] = async (name, flags, mode) => {
      const handle = await nodeFiles.open(name, flags, mode);
      handle.chown = async (...owner) => {
        owners.push(owner);
        throw new Error('EPERM');
      };
      return handle;
    };
    const stat = async (name: string): Promise<object> =>
      Object.assign(await nodeFiles.stat(name), { uid: (process.geteuid?.() ?? 0) + by, gid: 7 });
    const files = { open, stat } as Partial<LockSystem['files']>;
    await writeIn(path, files);
    expect([owners, readFileSync(fileIn(path), 'utf8')]).toEqual([expected, 'new']);
  });

  test('is written even if the lock cannot be removed', async () => {
    const path = temporaryFolder();
    const unlink = failing('EBUSY');
    await writeIn(path, { unlink });
    expect(readFileSync(fileIn(path), 'utf8')).toBe('new');
    const other = temporaryFolder();
    const files = { unlink, rename: failing('EACCES') };
    await expect(writeIn(other, files)).rejects.toMatchObject({ code: 'EACCES' });
  });

  test.each<[string, Partial<LockSystem['files']>]>([
    ['cannot be written', { rename: failing('EACCES') }],
    ['is on a full disk', { open: failing('ENOSPC') }],
    ['cannot be read', { readFile: unreadable as LockSystem['files']['readFile'] }],
  ])('that %s is unchanged, and no other files remain', async (_what, files) => {
    const path = temporaryFolder();
    writeFileSync(fileIn(path), 'old');
    await expect(writeIn(path, files)).rejects.toMatchObject({
      code: expect.stringMatching(/^E[A-Z]+$/) as string,
    });
    expect(readdirSync(path)).toEqual(['settings.json']);
    expect(readFileSync(fileIn(path), 'utf8')).toBe('old');
  });

  test('is unchanged if the lock file cannot be written, and no lock remains', async () => {
    const path = temporaryFolder();
    await expect(writeIn(path, { open: openUnwritable })).rejects.toMatchObject({ code: 'ENOSPC' });
    expect(readdirSync(path)).toEqual([]);
  });

  test('is synced before the rename, and its folder after', async () => {
    const path = temporaryFolder();
    const uses: string[] = [];
    const open: LockSystem['files']['open'] = async (name, flags, mode) => {
      const handle = await nodeFiles.open(name, flags, mode);
      const what = name === path ? 'folder' : 'file';
      const sync = handle.sync.bind(handle);
      handle.sync = async () => {
        uses.push(`sync ${what}`);
        await sync();
      };
      return handle;
    };
    const rename: LockSystem['files']['rename'] = async (from, to) => {
      uses.push(`rename ${readFileSync(from, 'utf8')}`);
      await nodeFiles.rename(from, to);
    };
    await writeIn(path, { open, rename });
    expect(uses).toEqual(['sync file', 'rename new', 'sync folder']);
  });

  test('is written even if its folder cannot be synced', async () => {
    const file = fileIn(temporaryFolder());
    await fileStore(file, system({ open: openFilesAlone })).update(() => 'new');
    expect(readFileSync(file, 'utf8')).toBe('new');
  });
});

/** A clock whose waits take a second each, but no real time. */
function hurried(waits: number[] = []) {
  const clock = createFakeClock();
  const sleep = async (ms: number): Promise<void> => {
    waits.push(ms);
    clock.elapse(1000);
  };
  return { ...clock, sleep };
}

const ofKilled = (name: string): boolean => name.startsWith('killed-');

/** Starts a writer, kills it after a few changes, and returns the changes that it reported. */
async function killedWriter(file: string): Promise<readonly string[]> {
  const [command = '', ...args] = fixtureCommand('settings-writer', [file, 'killed', '1000000']);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let reported = '';
  child.stdout.on('data', (chunk: Buffer) => {
    reported += chunk.toString();
    if (reported.split('\n').length > 3) child.kill('SIGKILL');
  });
  await once(child, 'close');
  return reported.split('\n').slice(0, -1);
}

describe('concurrent writers', () => {
  test('of one process lose no change', async () => {
    const file = fileIn(temporaryFolder());
    const stores = Array.from({ length: 4 }, () => fileStore(file));
    const changes = stores.flatMap((store, at) =>
      Array.from({ length: 5 }, (_, change) =>
        store.update((text) => `${text ?? ''}${at * 5 + change};`),
      ),
    );
    await Promise.all(changes);
    const written = readFileSync(file, 'utf8').split(';').filter(Boolean).map(Number);
    expect(written.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, at) => at));
  });

  test('of several processes lose no change, even if one is killed, and readers see whole settings', async () => {
    const path = temporaryFolder();
    const application = { name: 'shop', environment: '' };
    writeFileSync(fileIn(path), JSON.stringify({ applications: { shop: application } }));
    const names = ['a', 'b', 'c'];
    const runs = names.map((name) => runFixture('settings-writer', [fileIn(path), name, '10']));
    const killed = killedWriter(fileIn(path));
    const over = new AbortController();
    const ended = Promise.all(runs).finally(() => over.abort());
    let reads = 0;
    while (!over.signal.aborted) {
      const text = await nodeFiles.readFile(fileIn(path), 'utf8');
      expect(JSON.parse(text)).toMatchObject({ applications: { shop: application } });
      reads += 1;
      // Leaves the processor to the writers.
      await systemClock.sleep(1);
    }
    expect((await ended).map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(
      names.map(() => [0, '']),
    );
    expect(reads).toBeGreaterThan(10);
    // The killed one may have started after the others ended.
    const reported = await killed;
    const settings = JSON.parse(readFileSync(fileIn(path), 'utf8')) as {
      readonly applications: { readonly shop: { readonly modules: object } };
    };
    const made = Object.keys(settings.applications.shop.modules);
    const expected = names.flatMap((name) =>
      Array.from({ length: 10 }, (_, at) => `${name}-${at}`),
    );
    expect(made.filter((name) => !ofKilled(name)).toSorted()).toEqual(expected.toSorted());
    // Its reported changes, and at most one more.
    expect(reported.length).toBeGreaterThan(0);
    expect(made.filter(ofKilled).slice(0, reported.length)).toEqual(reported);
    expect(made.filter(ofKilled).length - reported.length).toBeLessThan(2);
    await fileStore(fileIn(path), { ...system(), clock: hurried() }).update((text) => text);
    expect(readdirSync(path)).toEqual(['settings.json']);
  });
});

/** Runs a writer that is killed before its nth file system call, and another one after it. */
const run = async (killAt: number) => {
  const path = temporaryFolder();
  const file = fileIn(path);
  writeFileSync(file, 'old');
  const { exitCode, stdout } = await runFixture('crashing-settings-writer', [file, String(killAt)]);
  const text = readFileSync(file, 'utf8');
  const left = readdirSync(path).map((name) => name.split('-')[0]);
  await fileStore(file, { ...system(), clock: hurried() }).update(() => 'next');
  const end = [readFileSync(file, 'utf8'), readdirSync(path)];
  return { exitCode, stdout, text, left, end };
};

describe('a writer that is killed', () => {
  test('leaves the old or the new text, and no lasting lock, at any file system call', async () => {
    const { stdout } = await run(0);
    const uses = Number(stdout);
    expect(uses).toBeGreaterThan(10);
    const runs = await Promise.all(Array.from({ length: uses }, (_, at) => run(at + 1)));
    for (const { exitCode, end } of runs) {
      expect(exitCode).toBeNull();
      expect(end).toEqual(['next', ['settings.json']]);
    }
    expect(new Set(runs.map(({ text }) => text))).toEqual(new Set(['old', 'new']));
    expect(new Set(runs.flatMap(({ left }) => left))).toEqual(
      new Set(['settings.json', 'settings.json.lock', 'settings.json.tmp']),
    );
  });
});

/** Puts the lock of another writer into the folder. */
function lockIn(path: string, token = 'another'): string {
  const lock = join(path, 'settings.json.lock');
  writeFileSync(lock, token);
  return lock;
}

describe('the lock of another writer', () => {
  test('is waited for', async () => {
    const path = temporaryFolder();
    const lock = lockIn(path);
    const store = fileStore(fileIn(path), {
      ...system(),
      clock: { ...systemClock, sleep: () => nodeFiles.unlink(lock) },
    });
    await store.update(() => 'new');
    expect(readdirSync(path)).toEqual(['settings.json']);
  });

  test.each(['another', ''])(
    'is removed after 20 s, with its temporary file: %j',
    async (token) => {
      const path = temporaryFolder();
      lockIn(path, token);
      writeFileSync(join(path, `settings.json.tmp-${token}`), 'half');
      const waits: number[] = [];
      await fileStore(fileIn(path), { ...system(), clock: hurried(waits) }).update(() => 'new');
      expect(waits).toEqual(Array.from({ length: 21 }, () => 16));
      expect(readdirSync(path)).toEqual(['settings.json']);
    },
  );

  test('is put back if another writer has replaced a stale one first', async () => {
    const path = temporaryFolder();
    const lock = lockIn(path, 'stale');
    const tokens: string[] = [];
    const rename: LockSystem['files']['rename'] = async (from, to) => {
      if (tokens.length === 0 && from === lock) writeFileSync(lock, 'living');
      await nodeFiles.rename(from, to);
    };
    const clock = hurried();
    const sleep = async (ms: number): Promise<void> => {
      await clock.sleep(ms);
      const token = readFileSync(lock, 'utf8');
      if (token === 'living') tokens.push(token);
      if (tokens.length === 3) await nodeFiles.unlink(lock);
    };
    const store = fileStore(fileIn(path), { ...system({ rename }), clock: { ...clock, sleep } });
    await store.update(() => 'new');
    expect(tokens).toEqual(['living', 'living', 'living']);
    expect(readdirSync(path)).toEqual(['settings.json']);
  });

  test('may be gone when it should be removed', async () => {
    const path = temporaryFolder();
    lockIn(path);
    const files = { rename: renameWithoutLock };
    const store = fileStore(fileIn(path), { ...system(files), clock: hurried() });
    await store.update(() => 'new');
    expect(readdirSync(path)).toEqual(['settings.json']);
  });

  test('is waited for one minute', async () => {
    const path = temporaryFolder();
    const clock = createFakeClock();
    lockIn(path);
    let waits = 0;
    const sleep = async (): Promise<void> => {
      waits += 1;
      lockIn(path, `another ${waits}`);
      clock.elapse(1000);
    };
    const store = fileStore(fileIn(path), { ...system(), clock: { ...clock, sleep } });
    await expect(store.update(() => 'new')).rejects.toMatchObject({
      code: 'ERR_CONFIGURATION_FAILED',
      message: expect.stringContaining('have held its lock for a minute') as string,
    });
    expect(waits).toBe(60);
    expect(readdirSync(path)).toEqual(['settings.json.lock']);
  });

  test('prevents the write if it has replaced ours', async () => {
    const path = temporaryFolder();
    writeFileSync(fileIn(path), 'old');
    const store = fileStore(fileIn(path));
    const replaceLock = (): string => {
      lockIn(path);
      return 'new';
    };
    await expect(store.update(replaceLock)).rejects.toMatchObject({
      code: 'ERR_CONFIGURATION_FAILED',
      message: expect.stringContaining('writing took too long') as string,
    });
    expect([readFileSync(fileIn(path), 'utf8'), readdirSync(path)]).toEqual([
      'old',
      ['settings.json', 'settings.json.lock'],
    ]);
  });
});
