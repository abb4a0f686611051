// Finds in a log why a test run failed without a failed test: an uncaught error, a file that could not be
// loaded, a crashed worker, or coverage. Also finds the causes of errors, which vitest's report omits.

const MAX_LINES = 60;
/** vitest prints its own message last. */
const TAIL_LINES = 10;

/** Patterns of a reason's first line, most important first, and the number of lines to print. */
const BEGINNINGS = [
  [/⎯{2,}.*(?:Unhandled|Failed Suites|Startup Error)/, 16],
  [/^\s*(?:FATAL|ERROR|Caused by)\b.*:|^.{0,40}\btimed out after/, 4],
  [/^\s*\[?\w*Error\b.*:/, 6],
];

// Built from a string, because linters forbid control characters in regular expressions.
const COLOURS = new RegExp(`${String.fromCodePoint(27)}\\[[\\d;]*m`, 'g');

const rangeFrom = (start, count) => Array.from({ length: count }, (_, index) => start + index);

const linesOf = (log) =>
  log
    .replace(COLOURS, '')
    .split('\n')
    .filter((line) => line.trim() !== '');

const MAX_CAUSES = 20;

/** Returns at most 20 distinct lines such as `Caused by: Error: the disk is full`. */
export const causesIn = (log) =>
  [...new Set(linesOf(log).filter((line) => line.startsWith('Caused by: ')))].slice(0, MAX_CAUSES);

/** Returns at most 60 lines of the log in order, with `…` in place of omitted lines. */
export function reasonsIn(log) {
  const lines = linesOf(log);
  const tail = rangeFrom(Math.max(0, lines.length - TAIL_LINES), TAIL_LINES);
  const reasons = BEGINNINGS.flatMap(([pattern, count]) =>
    lines.flatMap((line, index) => (pattern.test(line) ? rangeFrom(index, count) : [])),
  );
  const exists = (index) => index < lines.length;
  const chosen = [...new Set([...tail, ...reasons])].filter(exists).slice(0, MAX_LINES);
  return chosen
    .toSorted((a, b) => a - b)
    .flatMap((index, at, all) =>
      at > 0 && index > all[at - 1] + 1 ? ['…', lines[index]] : [lines[index]],
    );
}
