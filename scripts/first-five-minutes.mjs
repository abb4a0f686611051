/**
 * The first minutes of somebody new, timed: packs the package, installs it in an empty folder, starts
 * `security-events listen` in one terminal, runs in another one the command that it prints, and waits
 * until the first shows a verified message. Fails where that does not come about.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'first-five-minutes-'));
const empty = join(folder, 'empty');

/** A person would have given up long ago. */
const LIMIT_MS = 300_000;

const env = {
  ...process.env,
  PATH: `${join(empty, 'node_modules/.bin')}${delimiter}${process.env.PATH}`,
  // What is set where this runs is not set where somebody is new.
  SECURITY_EVENTS_SECRET: '',
  NODE_OPTIONS: '',
  // What is printed is looked at.
  NO_COLOR: '1',
};
delete env.FORCE_COLOR;

const children = new Set();

function start(command, args) {
  const child = spawn(command, args, { cwd: empty, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  const lines = [];
  const told = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const look of told) look(line);
    });
  }
  const ended = once(child, 'close').then(([code]) => {
    children.delete(child);
    return code;
  });
  /** The first line that fits, printed or yet to come; fails where the program ends without it. */
  const line = (pattern) =>
    new Promise((resolve, reject) => {
      const look = (text) => {
        const found = pattern.exec(text);
        if (found !== null) resolve(found);
      };
      told.push(look);
      for (const text of lines) look(text);
      void ended.then((code) =>
        reject(new Error(`no line like ${pattern}; exit code ${code}\n${lines.join('\n')}`)),
      );
    });
  return { child, ended, line };
}

const stages = [];

async function stage(name, work) {
  const startedAt = performance.now();
  const result = await work();
  stages.push([name, (performance.now() - startedAt) / 1000]);
  return result;
}

function expect(isSo, what) {
  if (!isSo) throw new Error(what);
}

function pack() {
  execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.tgz')),
  );
}

function install(tarball) {
  execFileSync(
    'npm',
    ['install', '--silent', '--prefer-offline', '--no-audit', '--no-fund', tarball],
    {
      cwd: empty,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
}

async function run() {
  mkdirSync(empty);
  const tarball = await stage('npm pack', () => pack());
  await stage('npm install in an empty folder', () => install(tarball));
  const listening = await stage('security-events listen, until it listens', async () => {
    const program = start('security-events', ['listen', '--port', '0']);
    await program.line(/^Listening on http:\/\/127\.0\.0\.1:\d+\/$/);
    return program;
  });
  // As a person does: the line that it shows is copied, and runs in a shell.
  const [, command] = await listening.line(/^ {2}(security-events test .*)$/);
  const [, secretFile] = /--secret-file (\S+)/.exec(command) ?? [];
  expect(existsSync(secretFile), 'the secret that was made is in no file');
  const testing = await stage('security-events test, until it says delivered', async () => {
    const program = start('sh', ['-c', command]);
    await program.line(/^Delivered: 127\.0\.0\.1:\d+ answered 204 /);
    return program;
  });
  expect((await testing.ended) === 0, 'security-events test ended with a failure');
  await stage('the verified message is shown', async () => {
    await listening.line(/verified, 1 message -> 204$/);
    await listening.line(/^ {2}test {2}/);
  });
  await stage('Ctrl-C', async () => {
    listening.child.kill('SIGINT');
    expect((await listening.ended) === 0, 'security-events listen did not end with 0');
  });
  expect(!existsSync(secretFile), 'the secret that was made was left behind');
}

const limit = setTimeout(() => {
  for (const child of children) child.kill('SIGKILL');
  process.exitCode = 1;
}, LIMIT_MS);

try {
  await run();
  const total = stages.reduce((sum, [, seconds]) => sum + seconds, 0);
  for (const [name, seconds] of [...stages, ['from nothing to a verified message', total]]) {
    process.stdout.write(`${seconds.toFixed(1).padStart(6)} s  ${name}\n`);
  }
} finally {
  clearTimeout(limit);
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
}
