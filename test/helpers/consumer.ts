/**
 * The packed package installed into an empty folder, as a consumer has it. Nothing in that folder
 * can see this repository: what is found there was in the tarball or among its dependencies.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { manifest, root } from './package-files.ts';

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class Consumer {
  readonly folder = mkdtempSync(join(tmpdir(), 'consumer-'));
  readonly installed = join(this.folder, 'node_modules', manifest.name);

  write(file: string, content: string): string {
    const path = join(this.folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  async run(command: string, args: readonly string[], cwd = this.folder): Promise<Ran> {
    // Not the environment of the test runner: its NODE_OPTIONS and worker ids are not a consumer's.
    const { PATH, HOME, TMPDIR } = process.env;
    const env = { PATH, HOME, TMPDIR, NO_COLOR: '1', CI: '1' };
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close') as Promise<[number | null]>,
    ]);
    return { status, stdout, stderr };
  }

  node(...args: string[]): Promise<Ran> {
    return this.run(process.execPath, args);
  }

  /** Runs a bin of ours: consumers bring the same tools, which need not be installed twice. */
  tool(path: string, ...args: string[]): Promise<Ran> {
    return this.node(join(root, 'node_modules', path), ...args);
  }

  /** Packs what the build left; scripts are off, since tests must not build. */
  async install(): Promise<void> {
    const pack = ['pack', '--ignore-scripts', '--pack-destination', this.folder];
    this.#orThrow(await this.run('npm', pack, root));
    const tarball = readdirSync(this.folder).find((file) => file.endsWith('.tgz'));
    this.write('package.json', '{ "private": true }');
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
    this.#orThrow(await this.run('npm', ['install', ...quiet, `./${tarball}`]));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #orThrow({ status, stderr }: Ran): void {
    if (status !== 0) throw new Error(`npm ended with ${status}: ${stderr}`);
  }
}
