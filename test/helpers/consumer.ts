/**
 * The packed package installed into an empty folder, as a consumer has it. Nothing in that folder
 * can see this repository: what is found there was in the tarball or among its dependencies.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { manifest, root } from './package-files.ts';

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export class Consumer {
  readonly folder = mkdtempSync(join(tmpdir(), 'consumer-'));
  readonly installed = join(this.folder, 'node_modules', manifest.name);

  write(file: string, text: string): string {
    const path = join(this.folder, file);
    writeFileSync(path, text);
    return path;
  }

  run(command: string, args: readonly string[], cwd = this.folder): Ran {
    // Not the environment of the test runner: its NODE_OPTIONS and worker ids are not a consumer's.
    const { PATH, HOME, TMPDIR } = process.env;
    const env = { PATH, HOME, TMPDIR, NO_COLOR: '1', CI: '1' };
    const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
    return { status, stdout, stderr };
  }

  node(...args: string[]): Ran {
    return this.run(process.execPath, args);
  }

  /** Runs a bin of ours: consumers bring the same tools, which need not be installed twice. */
  tool(path: string, ...args: string[]): Ran {
    return this.node(join(root, 'node_modules', path), ...args);
  }

  /** Packs what the build left; scripts are off, since tests must not build. */
  install(): void {
    const pack = ['pack', '--ignore-scripts', '--pack-destination', this.folder];
    this.#orThrow(this.run('npm', pack, root));
    const tarball = readdirSync(this.folder).find((file) => file.endsWith('.tgz'));
    this.write('package.json', '{ "private": true }');
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
    this.#orThrow(this.run('npm', ['install', ...quiet, `./${tarball}`]));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #orThrow({ status, stderr }: Ran): void {
    if (status !== 0) throw new Error(`npm ended with ${status}: ${stderr}`);
  }
}
