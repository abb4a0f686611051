/** Folders that a queue takes for its own, and those of other programs, in which it changes nothing. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { describe, expect, test } from 'vitest';
import { metaKey } from '../../../src/queue/level/keys.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { cut, filesOf, flip, judge, useDamagedFolder, WHOLE } from './damaged-folder.ts';
import { createLevelQueue, entryOf, ROW } from './old-trial.ts';

const MARK = 'SECURITY-EVENT-DELIVERY';
const BUFFERS = { keyEncoding: 'buffer', valueEncoding: 'buffer' } as const;

type Rows = readonly (readonly [key: string, value: string])[];

/** Keys that begin as ours do, among others. */
const ROWS: Rows = Array.from({ length: 300 }, (_, index) => [
  `${'Mafbghcxy!iIjk'[index % 14]}${index % 3 === 0 ? '' : `user:${index}`}`,
  JSON.stringify({ form: `${index}`, filler: 'abc'.repeat(40) }),
]);

/** Rows in a table, and in the newest file. */
async function fill(folder: string, rows: Rows = ROWS): Promise<void> {
  for (const part of [rows.slice(0, -20), rows.slice(-20)]) {
    const level = new ClassicLevel(folder);
    await level.batch(part.map(([key, value]) => ({ type: 'put', key, value })));
    await level.close();
  }
}

/** All that there is of a folder. */
const told = (folder: string): unknown => [
  statSync(folder).mode,
  readdirSync(folder).map((name) => {
    const { mtimeMs, ino, mode } = statSync(join(folder, name));
    return [name, mtimeMs, ino, mode, readFileSync(join(folder, name), 'latin1')];
  }),
];

/** Gives how many messages wait, of which one is new. */
const opened = async (folder: string): Promise<number> => {
  const queue = createLevelQueue({ folder });
  await queue.open(ROW);
  await queue.enqueue([entryOf('one')]);
  const { pending } = await queue.stats();
  await queue.close();
  return pending;
};

const DAMAGES: readonly (readonly [string, (folder: string) => void])[] = [
  ['whole', () => {}],
  ['without the file that names the others', (folder) => rmSync(join(folder, 'CURRENT'))],
  ['with a list of files that is cut', (folder) => cut(only(folder, /^MANIFEST/), 0.5)],
  ['with a table that is garbled', (folder) => flip(only(folder, /\.ldb$/), 40, 200)],
  ['with a table that is cut', (folder) => cut(only(folder, /\.ldb$/), 0.5)],
  ['with writes that are garbled', (folder) => flip(only(folder, /\.log$/), 10, 30)],
  [
    'of which nothing can be read',
    (folder) => {
      for (const file of filesOf(folder, /\.(?:ldb|log)$/)) writeFileSync(file, 'nothing of it');
    },
  ],
];

const only = (folder: string, pattern: RegExp): string => filesOf(folder, pattern)[0] as string;

describe('the store of another program', () => {
  test.each(DAMAGES)('%s is refused, and stays as it was', async (_, damage) => {
    const folder = join(temporaryFolder(), 'theirs');
    await fill(folder);
    damage(folder);
    chmodSync(folder, 0o755);
    const before = told(folder);
    await expect(opened(folder)).rejects.toMatchObject({
      code: 'ERR_QUEUE_FOREIGN',
      message: expect.stringContaining(folder) as string,
    });
    expect(told(folder)).toEqual(before);
  });

  test('is refused while that program has it open', async () => {
    const folder = temporaryFolder();
    const theirs = new ClassicLevel(folder);
    await theirs.put('user:1', 'ada');
    await expect(opened(folder)).rejects.toMatchObject({ code: 'ERR_QUEUE_FOREIGN' });
    expect(await theirs.get('user:1')).toBe('ada');
    await theirs.close();
  });

  test('is refused each time, by incidents as well', async () => {
    const folder = temporaryFolder();
    await fill(folder);
    const queue = createLevelQueue({ folder });
    const calls = [() => queue.open(ROW), () => queue.open(ROW)];
    const report = { applicationId: 'a', incidentId: 'i', channel: 'log', at: 0 } as const;
    calls.push(() => queue.incidents.tell({ ...report, addresses: [], accounts: [] }) as never);
    for (const call of calls) {
      await expect(call()).rejects.toMatchObject({ code: 'ERR_QUEUE_FOREIGN' });
    }
    await queue.close();
    expect(existsSync(join(folder, MARK))).toBe(false);
  });
});

describe('a folder of ours', () => {
  const { folder, accepted } = useDamagedFolder();

  test('says so, to nobody but its owner', () => {
    expect(statSync(join(folder, MARK)).mode & 0o777).toBe(0o600);
  });

  test.each(DAMAGES.slice(0, -1))(
    'of an earlier version, which did not say so, is known by its rows, %s',
    async (_, damage) => {
      rmSync(join(folder, MARK));
      damage(folder);
      const { stats, wrong } = await judge(folder, accepted);
      expect(wrong).toEqual([]);
      // Some of it: what is gone is the business of damage.test.ts.
      expect(stats.accepted).toBeGreaterThan(WHOLE.accepted / 3);
      expect(existsSync(join(folder, MARK))).toBe(true);
    },
  );

  test('of which nothing can be read is ours all the same, where it says so', async () => {
    DAMAGES.at(-1)?.[1](folder);
    expect(await opened(folder)).toBe(1);
  });

  test('is one of which an earlier process had only made the store', async () => {
    const made = temporaryFolder();
    const level = new ClassicLevel(made, BUFFERS);
    await level.open();
    await level.close();
    expect(await opened(made)).toBe(1);
  });

  test('is one whose process ended between saying so and making the store', async () => {
    const made = temporaryFolder();
    writeFileSync(join(made, MARK), '');
    mkdirSync(join(made, 'lost'));
    expect(await opened(made)).toBe(1);
  });

  test('of the form before checksums is refused for that', async () => {
    const made = temporaryFolder();
    const level = new ClassicLevel<Buffer, Buffer>(made, BUFFERS);
    await level.put(metaKey(), Buffer.from(JSON.stringify({ form: 1, runs: 1 })));
    await level.close();
    await expect(opened(made)).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining('another version') as string,
    });
  });
});
