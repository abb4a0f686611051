/** Events that the writing of a log line causes, such as in a security agent that hooks `fs`, are not reported. */
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';

type Fs = typeof import('node:fs');
const fs = createRequire(import.meta.url)('node:fs') as Fs;
const original = { writeSync: fs.writeSync, writev: fs.writev };
const agent = { onWrite: (): void => {} };

/** Returns a function that calls the agent first. It also has the original's symbols, which `promisify` reads. */
function hooked<F extends (...args: never[]) => unknown>(call: F): F {
  const hook = (...args: Parameters<F>): unknown => {
    agent.onWrite();
    return call(...args);
  };
  return Object.defineProperties(hook, Object.getOwnPropertyDescriptors(call)) as unknown as F;
}

function replace(functions: Partial<Fs>): void {
  Object.assign(fs, functions);
  syncBuiltinESMExports();
}

// An agent hooks `fs` before the program loads the library.
replace({ writeSync: hooked(original.writeSync), writev: hooked(original.writev) });
afterAll(() => replace(original));
const { ATTACK, INCIDENT, openReporter } = await import('./open-reporter.ts');

/** Opens a reporter whose writes of lines each report an event, twenty at most. */
function openHooked(options: Partial<ReporterOptions>) {
  const opened = openReporter(options);
  const settled: Promise<unknown>[] = [];
  agent.onWrite = () => {
    if (settled.length < 20) settled.push(opened.reporter.attack(ATTACK).settled);
  };
  onTestFinished(() => {
    agent.onWrite = () => {};
  });
  return { ...opened, settled };
}

const OWN_WORK = { outcome: 'skipped', reason: 'own-work' };
const write = () => agent.onWrite();
const finish = async () => {};

test.each<[string, () => ReporterOptions['log']]>([
  ['a destination of the host', () => ({ destination: { write } })],
  ['a writer of the host', () => ({ write, flush: finish, close: finish })],
  ['a file', () => ({ destination: join(temporaryFolder(), 'events.log') })],
  [
    'a file in the background',
    () => ({ destination: join(temporaryFolder(), 'events.log'), sync: false }),
  ],
])('an event that a write to %s causes is own work', async (_what, log) => {
  const { reporter, settled, rejected } = openHooked({ log: log() });
  reporter.attack(ATTACK);
  reporter.incident(INCIDENT);
  await reporter.flush();
  expect(await Promise.all(settled)).toEqual([OWN_WORK, OWN_WORK]);
  expect(await reporter.stats()).toMatchObject({ reported: 4, written: 2, ownWork: 2 });
  expect(rejected).toEqual([]);
});

test('an event that onRejected reports is not own work', async () => {
  const { reporter } = openReporter({
    log: { destination: { write: () => fail() } },
    onRejected: () => void reporter.userLogin({ success: true }),
  });
  reporter.attack(ATTACK);
  expect(await reporter.stats()).toMatchObject({ ownWork: 0, rejected: { log: 2 } });
});

function fail(): never {
  throw new Error('ENOSPC');
}
