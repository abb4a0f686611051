/** Commands as programs: what only real processes can prove. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { postSigned } from '../helpers/http.ts';
import { root } from '../helpers/package-files.ts';
import { listenOn } from '../helpers/servers.ts';
import { namedPipe, temporaryFile, temporaryFolder } from '../helpers/temporary-files.ts';

const main = join(root, 'dist/cli/main.js');
const SECRET = 'secret-of-the-test';

interface Program {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  text(): string;
  has(pattern: RegExp): Promise<RegExpExecArray>;
}

function program(words: readonly string[], env: Readonly<Record<string, string>>): Program {
  const child = spawn(process.execPath, [main, ...words], {
    env: { SECURITY_EVENTS_SECRET: SECRET, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let text = '';
  const looks: (() => void)[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      for (const look of looks) look();
    });
  }
  const ended = once(child, 'close').then(([exitCode]) => exitCode as number | null);
  const has = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(text);
        if (found !== null) resolve(found);
      };
      looks.push(look);
      look();
      void ended.then((code) =>
        reject(new Error(`ended with ${code} without ${pattern}: ${text}`)),
      );
    });
  return { child, ended, text: () => text, has };
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

  const testing = program(['test', url], {});
  expect(await testing.ended).toBe(0);
  await listening.has(/verified, 1 message -> 204\n {2}test {2}/);

  // A reader that leaves ends it without an error message.
  listening.child.stdout?.destroy();
  await postSigned(url, '[]', SECRET).catch(() => undefined);
  expect(await listening.ended).toBe(0);
  expect(listening.text() + testing.text()).not.toContain(SECRET);
  expect(listening.text()).not.toContain('\u001B');
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
  const validating = program(['validate', temporaryFile('5\n'), namedPipe()], {});
  await validating.has(/found a number\n/);
  validating.child.kill('SIGTERM');
  expect(await validating.ended).toBe(130);
});
