/** A recipe of docs/recipes in a folder with its framework and the packed package. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { contract } from '../../src/contract/index.ts';
import { Consumer } from './consumer.ts';
import { untilListening } from './http.ts';
import { filesBelow, root, textOf } from './package-files.ts';

type Replace = (code: string) => string;

export interface RunningRecipe {
  readonly output: () => string;
  /** The log records in the output. */
  readonly records: () => unknown[];
  /** Resolves to its exit code. */
  readonly ended: Promise<number | null>;
  /** Stops it with SIGTERM, as platforms do. Resolves to its exit code. */
  stop(): Promise<number | null>;
}

export class Recipe {
  readonly consumer = new Consumer();
  readonly #running = new Set<ChildProcess>();

  /** Installs the framework with the lock file of test/package/recipes. `replace` edits the recipe's files. */
  async install(name: string, replace: Replace = (code) => code): Promise<void> {
    const locked = join(root, 'test/package/recipes', name);
    cpSync(locked, this.consumer.folder, { recursive: true });
    await this.consumer.npm('ci');
    await this.consumer.install({ byNpm: false });
    cpSync(join(locked, 'package.json'), join(this.consumer.folder, 'package.json'));
    for (const file of filesBelow(`docs/recipes/${name}`)) {
      this.consumer.write(file, replace(textOf(join('docs/recipes', name, file))));
    }
  }

  /** Starts a program with Node and waits until it listens on `port`. */
  async start(args: readonly string[], port?: number, env: object = {}): Promise<RunningRecipe> {
    let output = '';
    const child = spawn(process.execPath, args, {
      cwd: this.consumer.folder,
      env: { ...process.env, NODE_OPTIONS: '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#running.add(child);
    const ended = (once(child, 'close') as Promise<[number | null]>).then(([code]) => code);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    }
    if (port !== undefined) await untilListening(port, child, () => output);
    return {
      output: () => output,
      records: () => recordsOf(output),
      ended,
      stop() {
        child.kill('SIGTERM');
        return ended;
      },
    };
  }

  remove(): void {
    for (const child of this.#running) child.kill('SIGKILL');
    this.consumer.remove();
  }
}

const recordsOf = (output: string): unknown[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{"'))
    .map((line) => contract({ dialect: 'open' }).LogRecord.parse(JSON.parse(line)));

/** Sends a request as a proxy on this machine would. Returns status and body. */
export async function request(url: string, init: RequestInit = {}): Promise<string> {
  const headers = new Headers(init.headers);
  headers.set('x-forwarded-for', '203.0.113.9');
  const response = await fetch(url, { ...init, headers });
  return `${response.status} ${await response.text()}`;
}
