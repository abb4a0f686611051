/**
 * The packed package installed into an empty folder, as a consumer has it. Nothing in that folder
 * can see this repository: what is found there was in the tarball or among its dependencies.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { QUICK_COMPILER } from './compile-programs.ts';
import { manifest, root } from './package-files.ts';
import { quickOrNightly } from './quick-or-nightly.ts';

type Lock = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What is installed without the flags `dev`, `peer` and the like: what a consumer gets. */
function lockedDependencies(): Lock {
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(lock) as { readonly packages: Lock };
  const isOurs = ([path, entry]: [string, Lock[string]]): boolean =>
    path !== '' && !['dev', 'devOptional', 'optional', 'peer'].some((flag) => flag in entry);
  return Object.fromEntries(Object.entries(packages).filter(isOurs));
}

/** Not the packages inside it, which the lock file names where they are meant. */
const isOfPackage =
  (path: string) =>
  (source: string): boolean =>
    source !== join(root, path, 'node_modules');

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
    const env = { PATH, HOME, TMPDIR, NO_COLOR: '1', CI: '1', ...QUICK_COMPILER };
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

  /**
   * Packs what the build left; scripts are off, since tests must not build. What it depends on comes
   * in the versions of this repository's lock file, which are in npm's cache where that was
   * installed: asking a registry what is newest would make a test fail that cannot reach it.
   */
  async install({ byNpm = quickOrNightly(false, true) } = {}): Promise<void> {
    const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', this.folder];
    this.#orThrow(await this.run('npm', pack, root));
    const tarball = readdirSync(this.folder).find((file) => file.endsWith('.tgz')) ?? '';
    const top = { private: true, dependencies: { [manifest.name]: `file:${tarball}` } };
    this.write('package.json', JSON.stringify(top));
    await (byNpm ? this.#installByNpm(tarball, top) : this.#unpack(tarball));
  }

  /** What npm makes of the lock file, with a fifth of the work. */
  async #unpack(tarball: string): Promise<void> {
    mkdirSync(this.installed, { recursive: true });
    const into = ['-C', this.installed, '--strip-components=1'];
    this.#orThrow(await this.run('tar', ['-xzf', tarball, ...into]));
    for (const path of Object.keys(lockedDependencies())) {
      const options = { recursive: true, filter: isOfPackage(path) };
      cpSync(join(root, path), join(this.folder, path), options);
    }
  }

  async #installByNpm(tarball: string, top: object): Promise<void> {
    const ours = { ...manifest, resolved: `file:${tarball}` };
    const packages = { '': top, [`node_modules/${manifest.name}`]: ours, ...lockedDependencies() };
    this.write('package-lock.json', JSON.stringify({ lockfileVersion: 3, packages }));
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
    this.#orThrow(await this.run('npm', ['ci', ...quiet]));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #orThrow({ status, stderr }: Ran): void {
    if (status !== 0) throw new Error(`it ended with ${status}: ${stderr}`);
  }
}
