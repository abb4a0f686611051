/** Commands as programs: what only real processes can prove. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { postSigned } from '../helpers/http.ts';
import { root } from '../helpers/package-files.ts';
import { deferred } from '../helpers/promises.ts';
import { hang, respond, type Step, startReceiver } from '../helpers/receiver.ts';
import { listenOn } from '../helpers/servers.ts';
import { namedPipe, temporaryFile, temporaryFolder } from '../helpers/temporary-files.ts';

const main = join(root, 'dist/cli/main.js');
const SECRET = 'secret-of-the-test';

/** Runs a command; `shell` is a line of a shell before it. */
function program(words: readonly string[], env: Readonly<Record<string, string>> = {}, shell = '') {
  const line = ['-c', `${shell}\nexec "$0" "$@"`, process.execPath, main, ...words];
  const child = spawn('sh', line, { env: { SECURITY_EVENTS_SECRET: SECRET, ...env } });
  onTestFinished(() => void child.kill('SIGKILL'));
  const texts = { stdout: '', stderr: '' };
  const looks: (() => void)[] = [];
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (chunk: string) => {
      texts[name] += chunk;
      for (const look of looks) look();
    });
  }
  const ended = once(child, 'close').then(([exitCode]) => exitCode as number | null);
  const has = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(texts.stdout) ?? pattern.exec(texts.stderr);
        if (found !== null) resolve(found);
      };
      looks.push(look);
      look();
      void ended.then((code) =>
        reject(new Error(`ended with ${code} without ${pattern}: ${JSON.stringify(texts)}`)),
      );
    });
  return { child, ended, texts, has };
}

/** The command line that other users see; empty without /proc. */
function commandLineOf({ pid }: ChildProcess): string {
  const file = `/proc/${pid}/cmdline`;
  return existsSync(file) ? readFileSync(file, 'utf8') : '';
}

it('one terminal listens, another tests, and the secret is never printed', async () => {
  const listening = program(['listen', '--port', '0'], { NO_COLOR: '1' });
  const [, url = ''] = await listening.has(/^Listening on (\S+)\n/m);
  expect(commandLineOf(listening.child)).not.toContain(SECRET);

  const testing = program(['test', url]);
  expect(await testing.ended).toBe(0);
  await listening.has(/verified, 1 message -> 204\n {2}test {2}/);

  // A reader that leaves ends it without an error message.
  listening.child.stdout.destroy();
  await postSigned(url, '[]', SECRET).catch(() => undefined);
  expect(await listening.ended).toBe(0);
  expect(JSON.stringify([listening.texts, testing.texts])).not.toContain(SECRET);
  expect(listening.texts.stdout).not.toContain('\u001B');
});

it('a second Ctrl-C at once leaves no secret behind', async () => {
  const folder = temporaryFolder();
  const listening = program(['listen', '--port', '0'], {
    SECURITY_EVENTS_SECRET: '',
    TMPDIR: folder,
  });
  const [, path = ''] = await listening.has(/--secret-file (\S+)/);
  expect(existsSync(path)).toBe(true);
  listening.child.kill('SIGINT');
  listening.child.kill('SIGHUP');
  await listening.ended;
  expect(readdirSync(folder)).toEqual([]);
});

it('SIGTERM ends a program whose database does not answer', async () => {
  const database = net.createServer((socket) => socket.on('error', () => undefined));
  const port = await listenOn(database);
  const connected = once(database, 'connection');
  const url = `postgres://user@127.0.0.1:${port}/none`;
  const listing = program(['dead', 'list', '--postgres'], { DATABASE_URL: url });
  await connected;
  const before = performance.now();
  listing.child.kill('SIGTERM');
  expect(await listing.ended).toBe(130);
  // It waits for the database for 30 s.
  expect(performance.now() - before).toBeLessThan(15_000);
});

it('SIGTERM ends a program that opens a named pipe without a writer', async () => {
  const validating = program(['validate', temporaryFile('5\n'), namedPipe()]);
  await validating.has(/found a number\n/);
  validating.child.kill('SIGTERM');
  expect(await validating.ended).toBe(130);
});

/** A file with so many messages, and a path for the undelivered ones. */
function messagesFile(count: number): { readonly file: string; readonly left: string } {
  const lines = Array.from({ length: count }, (_, index) =>
    JSON.stringify({ ...sampleMessageToSend('test'), message_id: `id-${index}` }),
  );
  const file = temporaryFile(`${lines.join('\n')}\n`);
  return { file, left: `${file}-left` };
}

it('saves undelivered messages before it continues, so that SIGKILL does not lose them', async () => {
  const second = deferred();
  const step: Step = (exchange) => {
    if (!exchange.request.body.includes('"id-1000"')) return respond({ status: 422 })(exchange);
    second.resolve();
    return hang()(exchange);
  };
  await using receiver = await startReceiver({ script: [step] });
  const { file, left } = messagesFile(1500);
  const words = ['send', receiver.url, file, '--retries', 'none', '--undelivered', left];
  const { child, ended } = program(words);
  await second.promise;
  child.kill('SIGKILL');
  await ended;
  expect(statSync(left).mode & 0o777).toBe(0o600);
  const saved = readFileSync(left, 'utf8').split('\n');
  expect(saved.pop()).toBe('');
  expect(saved.map((line) => (JSON.parse(line) as { message_id: string }).message_id)).toEqual(
    Array.from({ length: 1000 }, (_, index) => `id-${index}`),
  );
});

it('still reports what happened when the file cannot be written', async () => {
  await using receiver = await startReceiver({ script: [respond({ status: 400 })] });
  const { file, left } = messagesFile(100);
  const words = ['send', receiver.url, file, '--retries', 'none', '--undelivered', left];
  const { ended, texts } = program(words, {}, 'ulimit -f 1');
  expect([await ended, texts.stderr]).toEqual([3, `security-events: ${left}: file too large\n`]);
  expect(texts.stdout).toContain('\nNot delivered: 100 messages\n');
  expect(texts.stdout).not.toContain('Saved');
});
