/**
 * The packed package installed into an empty folder, as a consumer has it. The folder cannot resolve
 * anything from this repository, only from the tarball and its dependencies.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { waitForExit } from './child-programs.ts';
import { QUICK_COMPILER } from './compile-programs.ts';
import { manifest, root, textOf } from './package-files.ts';
import { quickOrNightly } from './quick-or-nightly.ts';

type Lock = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Returns the lock file's entries that a consumer gets: those without flags such as `dev` and `peer`. */
function lockedDependencies(): Lock {
  const { packages } = JSON.parse(textOf('package-lock.json')) as { readonly packages: Lock };
  const isDependency = ([path, entry]: [string, Lock[string]]): boolean =>
    path !== '' && !['dev', 'devOptional', 'optional', 'peer'].some((flag) => flag in entry);
  return Object.fromEntries(Object.entries(packages).filter(isDependency));
}

/** Skips nested node_modules: the lock file lists those packages separately. */
const isOutsideNestedModules =
  (path: string) =>
  (source: string): boolean =>
    source !== join(root, path, 'node_modules');

export interface CommandResult {
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

  async run(command: string, args: readonly string[], cwd = this.folder): Promise<CommandResult> {
    // Excludes the test runner's environment, such as its NODE_OPTIONS and worker ids.
    const { PATH, HOME, TMPDIR } = process.env;
    const env = { PATH, HOME, TMPDIR, NO_COLOR: '1', CI: '1', ...QUICK_COMPILER };
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const { code, stdout, stderr } = await waitForExit(child);
    return { status: code, stdout, stderr };
  }

  /** Runs a command that must succeed without errors. Returns its output. */
  async output(args: readonly string[], command = process.execPath): Promise<string> {
    const { status, stdout, stderr } = await this.run(command, args);
    if (status !== 0 || stderr !== '') throw new Error(`exit code ${status}: ${stderr}${stdout}`);
    return stdout;
  }

  node(...args: string[]): Promise<CommandResult> {
    return this.run(process.execPath, args);
  }

  /** Installs the dependencies of a folder's package.json, from npm's cache if possible. */
  async npm(command: 'ci' | 'install', cwd = this.folder): Promise<void> {
    const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
    this.#orThrow(await this.run('npm', [command, ...quiet], cwd));
  }

  /** Runs a tool from this repository's node_modules, so that it is not installed again. */
  tool(path: string, ...args: string[]): Promise<CommandResult> {
    return this.node(join(root, 'node_modules', path), ...args);
  }

  /**
   * Packs the existing build with scripts off, since tests must not build. Installs dependencies in the
   * versions of this repository's lock file, so that npm's cache suffices and no registry is needed.
   */
  async install({ byNpm = quickOrNightly(false, true) } = {}): Promise<void> {
    const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', this.folder];
    this.#orThrow(await this.run('npm', pack, root));
    const tarball = readdirSync(this.folder).find((file) => file.endsWith('.tgz')) ?? '';
    const top = { private: true, dependencies: { [manifest.name]: `file:${tarball}` } };
    this.write('package.json', JSON.stringify(top));
    await (byNpm ? this.#installByNpm(tarball, top) : this.#unpack(tarball));
  }

  /** Does what npm does with the lock file, in a fifth of the time. */
  async #unpack(tarball: string): Promise<void> {
    mkdirSync(this.installed, { recursive: true });
    const into = ['-C', this.installed, '--strip-components=1'];
    this.#orThrow(await this.run('tar', ['-xzf', tarball, ...into]));
    for (const path of Object.keys(lockedDependencies())) {
      const options = { recursive: true, filter: isOutsideNestedModules(path) };
      cpSync(join(root, path), join(this.folder, path), options);
    }
  }

  async #installByNpm(tarball: string, top: object): Promise<void> {
    const self = { ...manifest, resolved: `file:${tarball}` };
    const packages = { '': top, [`node_modules/${manifest.name}`]: self, ...lockedDependencies() };
    this.write('package-lock.json', JSON.stringify({ lockfileVersion: 3, packages }));
    await this.npm('ci');
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #orThrow({ status, stderr }: CommandResult): void {
    if (status !== 0) throw new Error(`The command exited with ${status}: ${stderr}`);
  }
}
