/** What a Markdown page shows of a terminal: commands behind `$ `, and what each printed. */

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
