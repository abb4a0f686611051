/** Uses of time, chance and the console, which src/ takes as arguments or leaves alone. */
import { tokenise } from './source-tokens.ts';

/** Rows of token texts. */
const AMBIENT: readonly (readonly string[])[] = [
  ['Date', '.', 'now'],
  ['new', 'Date', '(', ')'],
  ['performance', '.', 'now'],
  ['process', '.', 'hrtime'],
  ['Math', '.', 'random'],
  ['AbortSignal', '.', 'timeout'],
  ['setTimeout'],
  ['setInterval'],
  ['setImmediate'],
];

export const CONSOLE: readonly (readonly string[])[] = [
  ['console'],
  ['process', '.', 'stdout', '.', 'write'],
  ['process', '.', 'stderr', '.', 'write'],
  ['process', '.', 'emitWarning'],
];

/** `[{ line, name }]` of each use; strings and comments do not count. */
export function usesOf(
  source: string,
  patterns: readonly (readonly string[])[] = AMBIENT,
): { readonly line: number; readonly name: string }[] {
  const tokens = tokenise(source).filter(({ kind }) => kind !== 'string' && kind !== 'template');
  return tokens.flatMap(({ line }, index) => {
    // `socket.setTimeout` is another thing than `setTimeout`; `globalThis.setTimeout` is not.
    const isMember = tokens[index - 1]?.text === '.' && tokens[index - 2]?.text !== 'globalThis';
    return patterns
      .filter((row) => !isMember && row.every((text, step) => tokens[index + step]?.text === text))
      .map((row) => ({ line, name: row.join('') }));
  });
}
