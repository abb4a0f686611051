/** What a Markdown page shows: programs, terminal sessions and their output. */

// What a Markdown page shows of a terminal: commands behind `$ `, and what each printed.

export interface ConsoleCommand {
  /** `page:line` of its line. */
  readonly place: string;
  /** The words after the program's name. */
  readonly words: readonly string[];
  /** What the page shows up to the next command, both outputs as they came. */
  readonly output: string;
}

const BLOCK = /^```console\n([\s\S]*?)^```$/gm;
const COMMAND = /^\$ (?:npx )?security-events (.*)\n((?:(?!\$ ).*\n)*)/gm;

/** Blocks whose commands are not this package's are left out: installing, for one. */
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

// The programs in a Markdown page, and what the page says that they print.

export interface MarkdownProgram {
  /** `page:line` of the fence. */
  readonly place: string;
  readonly language: 'ts' | 'js';
  readonly code: string;
  /** The block marked `output` that follows before the next program; undefined where there is none. */
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

/** A block that imports nothing is a fragment: it shows a line or two of the reader's own program. */
const languageOf = ({ info, text }: Fence): 'ts' | 'js' | undefined =>
  (info === 'ts' || info === 'js') && /^import |\brequire\(/m.test(text) ? info : undefined;

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
