/** The programs in a Markdown page, and what the page says that they print. */

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
