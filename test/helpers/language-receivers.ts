/**
 * The receivers that docs/other-languages.md links to. Each is started with its language's tool, if
 * that is installed.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort, untilListening } from './http.ts';
import { textOf } from './package-files.ts';
import { quickOrNightly } from './quick-or-nightly.ts';

const linked = [...textOf('docs/other-languages.md').matchAll(/\]\(receivers\/([\w.]+)\)/g)].map(
  ([, file = '']) => file,
);

/** Returns the text of a program that the page links to. */
export function programOf(file: string): string {
  if (!linked.includes(file)) throw new Error(`the page has no ${file}`);
  return textOf(join('docs/receivers', file));
}

/** The receivers that the page links to. */
export const pageReceivers = (): string[] => linked.filter((file) => file !== 'vectors.py');

export interface Language {
  readonly language: string;
  readonly file: string;
  /** The program that must be installed, and its Debian package. */
  readonly tool: string;
  readonly debian: string;
  /** Arguments of the tool that compile the file to `server` in the same folder. Slow, so nightly only. */
  readonly compile?: (file: string) => readonly string[];
  /** Arguments of the tool, or of the compiled program. */
  readonly args: (file: string, port: number) => readonly string[];
}

export const LANGUAGES: readonly Language[] = [
  {
    language: 'python',
    file: 'receiver.py',
    tool: 'python3',
    debian: 'python3',
    args: (file) => ['-u', file],
  },
  {
    language: 'go',
    file: 'receiver.go',
    tool: 'go',
    debian: 'golang-go',
    compile: (file) => ['build', '-o', 'server', file],
    args: () => [],
  },
  {
    language: 'ruby',
    file: 'config.ru',
    tool: 'puma',
    debian: 'puma',
    args: (file, port) => ['-t', '1:1', '-b', `tcp://127.0.0.1:${port}`, file],
  },
  {
    language: 'php',
    file: 'receiver.php',
    tool: 'php',
    debian: 'php-cli',
    args: (file, port) => ['-S', `127.0.0.1:${port}`, file],
  },
];

const isInstalled = (tool: string): boolean =>
  (process.env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, tool)));

/** Returns whether the receiver can run. Prints a message if its tool is not installed. */
export function isAvailable({ language, tool, debian, compile }: Language): boolean {
  if (!isInstalled(tool)) {
    const reason = `${tool} is not installed (Debian: apt-get install ${debian})`;
    if (process.env['REQUIRE_LANGUAGES']?.split(',').includes(language)) throw new Error(reason);
    console.warn(`SKIPPED: the receiver in ${language}, ${reason}`);
    return false;
  }
  return compile === undefined || quickOrNightly(false, true);
}

export class LanguageReceiver {
  readonly origin: string;
  readonly #child: ChildProcess;
  readonly #folder: string;
  #printed = '';
  /** Called when the program prints or ends. */
  #onChange = (): void => {};

  private constructor(child: ChildProcess, folder: string, port: number) {
    this.#child = child;
    this.#folder = folder;
    this.origin = `http://127.0.0.1:${port}`;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#printed += text;
        this.#onChange();
      });
    }
    child.once('close', () => this.#onChange());
  }

  static async start(
    { file, tool, compile, args }: Language,
    env: Readonly<Record<string, string>>,
  ): Promise<LanguageReceiver> {
    const folder = mkdtempSync(join(tmpdir(), 'other-language-'));
    const path = join(folder, file);
    writeFileSync(path, programOf(file));
    const port = await freePort();
    if (compile !== undefined) execFileSync(tool, compile(path), { cwd: folder });
    const command = compile === undefined ? tool : join(folder, 'server');
    const child = spawn(command, args(path, port), {
      cwd: folder,
      env: { ...process.env, ...env, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const receiver = new LanguageReceiver(child, folder, port);
    await untilListening(port, child, () => receiver.printed);
    return receiver;
  }

  /** Resolves when the program has printed the text. */
  async untilPrinted(text: string): Promise<void> {
    while (!this.#printed.includes(text)) {
      if (this.#child.exitCode !== null) throw new Error(`The receiver ended:  ${this.#printed}`);
      await new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
    }
  }

  get printed(): string {
    return this.#printed;
  }

  async close(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) {
      const closed = once(this.#child, 'close');
      this.#child.kill('SIGKILL');
      await closed;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
