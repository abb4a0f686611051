/** Programs and terminal sessions in a Markdown page, and their output. */
import { filesBelow } from './package-files.ts';

/** The README and the guides. */
export const PAGES: readonly string[] = [
  'README.md',
  ...filesBelow('docs').flatMap((file) => (/^[^/]+\.md$/.test(file) ? [`docs/${file}`] : [])),
];

export interface ConsoleCommand {
  /** `page:line` of the command. */
  readonly place: string;
  /** The arguments after the program's name. */
  readonly words: readonly string[];
  /** The page's lines up to the next command: standard output and standard error interleaved. */
  readonly output: string;
}

const BLOCK = /^```console\n([\s\S]*?)^```$/gm;
const COMMAND = /^\$ (?:npx )?security-events (.*)\n((?:(?!\$ ).*\n)*)/gm;

/** Returns this package's commands in `console` blocks. `$ ` marks a command. Skips others, such as `npm install`. */
export function consoleCommandsOf(page: string, markdown: string): ConsoleCommand[] {
  return [...markdown.matchAll(BLOCK)].flatMap((block) => {
    const [, text = ''] = block;
    const start = block.index + '```console\n'.length;
    return [...text.matchAll(COMMAND)].map(({ index, 1: words = '', 2: output = '' }) => ({
      place: `${page}:${markdown.slice(0, start + index).split('\n').length}`,
      words: words.split(/\s+/),
      output,
    }));
  });
}

export interface MarkdownProgram {
  /** `page:line` of the fence. */
  readonly place: string;
  readonly language: 'ts' | 'js';
  readonly code: string;
  /** The block marked `output` before the next program, if there is one. */
  readonly output: string | undefined;
}

interface Fence {
  readonly info: string;
  readonly line: number;
  readonly text: string;
}

const FENCE = /^(`{3,})(.*)\n([\s\S]*?)^\1`*[ \t]*$/gm;

function fencesOf(markdown: string): Fence[] {
  return [...markdown.matchAll(FENCE)].map((match) => ({
    info: (match[2] ?? '').trim(),
    line: markdown.slice(0, match.index).split('\n').length,
    text: match[3] ?? '',
  }));
}

const isOutput = ({ info }: Fence): boolean => info.split(/\s+/).at(1) === 'output';

const isProgram = (text: string): boolean => /^import |\brequire\(/m.test(text);

/** Returns undefined for a block that imports nothing: it is a fragment of the reader's program. */
const languageOf = ({ info, text }: Fence): 'ts' | 'js' | undefined =>
  (info === 'ts' || info === 'js') && isProgram(text) ? info : undefined;

export function programsOf(page: string, markdown: string): MarkdownProgram[] {
  const fences = fencesOf(markdown);
  return fences.flatMap((fence, index) => {
    const language = languageOf(fence);
    if (language === undefined) return [];
    const rest = fences.slice(index + 1);
    const next = rest.findIndex((other) => languageOf(other) !== undefined);
    const output = (next === -1 ? rest : rest.slice(0, next)).find(isOutput);
    return [{ place: `${page}:${fence.line}`, language, code: fence.text, output: output?.text }];
  });
}

/** Blocks of TypeScript and JavaScript that import nothing. */
export function fragmentsOf(page: string, markdown: string): Omit<MarkdownProgram, 'output'>[] {
  return fencesOf(markdown).flatMap(({ info, line, text }) => {
    const [language] = info.split(/\s+/);
    if ((language !== 'ts' && language !== 'js') || isProgram(text)) return [];
    return [{ place: `${page}:${line}`, language, code: text }];
  });
}
