/**
 * Every program in the README and in the guides compiles, runs, and prints what the page says. Fragments,
 * which import nothing, compile with the names that they leave out. All use the built package by its name,
 * as readers do. To start faster, programs other than the first are bundled.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ProgramRun,
  runProgram,
  type StartedProgram,
  startProgram,
} from './helpers/child-programs.ts';
import { bundlePrograms, QUICK_COMPILER } from './helpers/compile-programs.ts';
import { FRAGMENT_NAMES } from './helpers/fragment-names.ts';
import { freePort, isListening } from './helpers/http.ts';
import { filesBelow, root, textOf } from './helpers/package-files.ts';
import { fragmentsOf, type MarkdownProgram, PAGES, programsOf } from './helpers/pages.ts';
import { quickOrNightly } from './helpers/quick-or-nightly.ts';
import { folderInPackage } from './helpers/temporary-files.ts';

const tsc = join(root, 'node_modules/typescript/bin/tsc');

/** The port that the pages' receivers listen on. */
const PAGE_PORT = '8080';

/** Programs that listen on another port send requests to themselves. */
const isReceiver = ({ code }: MarkdownProgram): boolean => code.includes(`.listen(${PAGE_PORT}`);

const sharedReceiver = pagePrograms('docs/getting-started.md').find(isReceiver);

function pagePrograms(page: string): MarkdownProgram[] {
  return programsOf(page, textOf(page));
}

/** A page that sends to the port without a receiver of its own has the one of docs/getting-started.md. */
function withReceiver(page: string): MarkdownProgram[] {
  const programs = pagePrograms(page);
  const needsReceiver = programs.some(({ code }) => code.includes(PAGE_PORT));
  if (!needsReceiver || programs.some(isReceiver) || sharedReceiver === undefined) return programs;
  return [...programs, { ...sharedReceiver, place: `${page}: receiver` }];
}

const pages = PAGES.map((page) => ({ page, programs: withReceiver(page) })).filter(
  ({ programs }) => programs.length > 0,
);

const folder = folderInPackage(afterAll);

const baseOf = ({ place }: Pick<MarkdownProgram, 'place'>): string => place.replace(/[^\w]+/g, '-');

const extensionOf = ({ language, code }: MarkdownProgram): string => {
  if (language === 'ts') return 'ts';
  return code.includes('require(') ? 'cjs' : 'mjs';
};

/** Node itself resolves the package in the README's first program, and at night in all of them. */
const isBundled = (program: MarkdownProgram): boolean =>
  quickOrNightly(true, false) &&
  extensionOf(program) !== 'cjs' &&
  program !== pages[0]?.programs[0];

const sourceOf = (program: MarkdownProgram): string => `${baseOf(program)}.${extensionOf(program)}`;

function fileOf(program: MarkdownProgram): string {
  if (isBundled(program)) return join('bundled', `${baseOf(program)}.js`);
  return extensionOf(program) === 'ts' ? join('built', `${baseOf(program)}.js`) : sourceOf(program);
}

/** Node's arguments for the compiled program. */
function argumentsOf(program: MarkdownProgram): string[] {
  // Node 22.12 warns of `require` of an ES module.
  return ['--disable-warning=ExperimentalWarning', join(folder, fileOf(program))];
}

function cwdOf(program: MarkdownProgram): string {
  const cwd = join(folder, `cwd-${baseOf(program)}`);
  mkdirSync(cwd);
  return cwd;
}

function compile(): string {
  const settings = {
    extends: '../../tsconfig.json',
    // The package's own declarations are checked as a consumer has them, in install.test.ts.
    compilerOptions: { noEmit: false, skipLibCheck: true, rootDir: '.', outDir: 'built' },
    include: ['*.ts'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  try {
    // Several checkers on few cores would each check the libraries' types.
    const args = [tsc, '-p', folder, '--checkers', '1'];
    const env = { ...process.env, ...QUICK_COMPILER };
    return execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env });
  } catch (error) {
    const { stdout } = error as { readonly stdout: string };
    // A fragment need not use what it shows.
    return stdout.replace(/^fragment-.* TS6133: .*\n/gm, '');
  }
}

const fragments = PAGES.flatMap((page) => fragmentsOf(page, textOf(page)));

async function startPageReceiver(program: MarkdownProgram, port: number): Promise<StartedProgram> {
  const started = startProgram(argumentsOf(program), { cwd: cwdOf(program) });
  while (started.child.exitCode === null && !(await isListening(port))) await wait(20);
  return started;
}

/** The port of each program in place of `PAGE_PORT`: a page's programs send to its first receiver. */
async function assignPorts(): Promise<Map<MarkdownProgram, number>> {
  const ports = new Map<MarkdownProgram, number>();
  const freeOne = () => freePort([...ports.values()]);
  for (const { programs } of pages) {
    const shared = await freeOne();
    const first = programs.find(isReceiver);
    for (const program of programs) {
      const isAlone = program !== first && isReceiver(program);
      ports.set(program, isAlone ? await freeOne() : shared);
    }
  }
  return ports;
}

/** Runs a page from top to bottom against its receivers, and records the result of each program. */
async function runPage(
  programs: readonly MarkdownProgram[],
  ports: ReadonlyMap<MarkdownProgram, number>,
): Promise<void> {
  const receivers = new Map<MarkdownProgram, StartedProgram>();
  for (const program of programs.filter(isReceiver)) {
    receivers.set(program, await startPageReceiver(program, ports.get(program) ?? 0));
  }
  for (const program of programs.filter((other) => !isReceiver(other))) {
    runs.set(program, await runProgram(argumentsOf(program), { cwd: cwdOf(program) }));
  }
  for (const [program, { child, ended }] of receivers) {
    child.kill();
    runs.set(program, await ended);
  }
}

const compiled = { output: '' };
const runs = new Map<MarkdownProgram, ProgramRun>();

beforeAll(async () => {
  const ports = await assignPorts();
  for (const [program, port] of ports) {
    const file = join(folder, sourceOf(program));
    writeFileSync(file, program.code.replaceAll(PAGE_PORT, String(port)));
  }
  for (const fragment of fragments) {
    // A module, so that its names are its own.
    const code = `${fragment.code}export {};\n`;
    writeFileSync(join(folder, `fragment-${baseOf(fragment)}.ts`), code);
  }
  writeFileSync(join(folder, 'fragment-names.ts'), FRAGMENT_NAMES);
  compiled.output = compile();
  const bundled = pages.flatMap(({ programs }) => programs.filter(isBundled));
  bundlePrograms(join(folder, 'bundled'), bundled.map(sourceOf), folder);
  await Promise.all(pages.map(({ programs }) => runPage(programs, ports)));
});

it('compiles every TypeScript program and fragment under the strict settings of the package', () => {
  expect(fragments.length).toBeGreaterThan(10);
  expect(compiled.output).toBe('');
});

describe.each(pages)('$page', ({ programs }) => {
  it.each(programs)('prints what the page says: $place', (program) => {
    const run = runs.get(program);
    const stdout = program.output ?? run?.stdout;
    // Receivers are killed.
    const exitCode = isReceiver(program) ? null : 0;
    expect(run).toEqual({ exitCode, stdout, stderr: '' });
  });
});

/** As GitHub makes them of headings. */
const anchorsOf = (markdown: string): string[] =>
  [...markdown.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe('the links of the pages', () => {
  const documents = ['ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'];

  it.each([...PAGES, ...documents, 'bench/README.md', 'examples/README.md'])(
    'lead to files and headings that exist: %s',
    (page) => {
      const links = textOf(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g);
      const broken = [...links].filter(([, path = '', anchor]) => {
        const target = path === '' ? page : join(dirname(page), path);
        if (!existsSync(join(root, target))) return true;
        return anchor !== undefined && !anchorsOf(textOf(target)).includes(anchor);
      });
      expect(broken.map(([link]) => link)).toEqual([]);
    },
  );
});

it('CONTRIBUTING.md names tests that exist', () => {
  const files = filesBelow('test').map((path) => `test/${path}`);
  const matches = [...textOf('CONTRIBUTING.md').matchAll(/`(test\/[^`]+)`/g)];
  const named = matches.map(([, path = '']) => path);
  const isMissing = (path: string): boolean => {
    const beginning = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll('*', '[^/]*')}`);
    return !files.some((file) => beginning.test(file));
  };
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter(isMissing)).toEqual([]);
});

it('the README has no fragment, and no program without its output', () => {
  const { programs } = pages[0] as (typeof pages)[number];
  expect(programs).toHaveLength(textOf('README.md').match(/^```[jt]s$/gm)?.length ?? 0);
  expect(programs.filter(({ output }) => output === undefined)).toEqual([]);
});
