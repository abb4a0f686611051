/**
 * Measures a newcomer's first minutes: packs the package, installs it in an empty folder, starts
 * `security-events listen`, runs the command that it prints, and waits until it shows a verified message.
 * Fails if it does not.
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

/** Maximum time of the whole run. */
const LIMIT_MS = 300_000;

const env = {
  ...process.env,
  PATH: `${join(empty, 'node_modules/.bin')}${delimiter}${process.env.PATH}`,
  // A newcomer has not set these variables.
  SECURITY_EVENTS_SECRET: '',
  NODE_OPTIONS: '',
  // The output is parsed below.
  NO_COLOR: '1',
};
delete env.FORCE_COLOR;

const children = new Set();

function start(command, args) {
  const child = spawn(command, args, { cwd: empty, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  const lines = [];
  const listeners = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      for (const onLine of listeners) onLine(line);
    });
  }
  const ended = once(child, 'close').then(([code]) => {
    children.delete(child);
    return code;
  });
  /** Waits for the first line that matches. Fails if the program ends without one. */
  const line = (pattern) =>
    new Promise((resolve, reject) => {
      const onLine = (text) => {
        const found = pattern.exec(text);
        if (found !== null) resolve(found);
      };
      listeners.push(onLine);
      for (const text of lines) onLine(text);
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

function expect(condition, message) {
  if (!condition) throw new Error(message);
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
  // Runs the printed line in a shell, as a person does.
  const [, command] = await listening.line(/^ {2}(security-events test .*)$/);
  const [, secretFile] = /--secret-file (\S+)/.exec(command) ?? [];
  expect(existsSync(secretFile), 'the generated secret is in no file');
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
  expect(!existsSync(secretFile), 'the generated secret was not removed');
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
