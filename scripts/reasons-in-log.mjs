// Why a run of the tests failed though no test did: an error that nobody caught, a file that could not
// be loaded, a worker that crashed, coverage. Only the log has it, among thousands of lines. And what the
// errors of failed tests were caused by, which vitest's report leaves out.

const MOST_LINES = 60;
/** vitest's own words come last. */
const TAIL_LINES = 10;

/**
 * What begins a reason, and how many lines tell it: what vitest heads, what ends a run or a process, then
 * whatever else programs have printed.
 */
const BEGINNINGS = [
  [/⎯{2,}.*(?:Unhandled|Failed Suites|Startup Error)/, 16],
  [/^\s*(?:FATAL|ERROR|Caused by)\b.*:|^.{0,40}\btimed out after/, 4],
  [/^\s*\[?\w*Error\b.*:/, 6],
];

// Colours. The first character is none that a regular expression may name.
const COLOURS = new RegExp(`${String.fromCodePoint(27)}\\[[\\d;]*m`, 'g');

const rangeFrom = (start, count) => Array.from({ length: count }, (_, index) => start + index);

const linesOf = (log) =>
  log
    .replace(COLOURS, '')
    .split('\n')
    .filter((line) => line.trim() !== '');

const MOST_CAUSES = 20;

/** Each once, at most 20: one line of each, such as `Caused by: Error: the disk is full`. */
export const causesIn = (log) =>
  [...new Set(linesOf(log).filter((line) => line.startsWith('Caused by: ')))].slice(0, MOST_CAUSES);

/** At most 60 lines of the log, in its order; `…` where some were left out. */
export function reasonsIn(log) {
  const lines = linesOf(log);
  const tail = rangeFrom(Math.max(0, lines.length - TAIL_LINES), TAIL_LINES);
  const telling = BEGINNINGS.flatMap(([pattern, count]) =>
    lines.flatMap((line, index) => (pattern.test(line) ? rangeFrom(index, count) : [])),
  );
  const isThere = (index) => index < lines.length;
  const chosen = [...new Set([...tail, ...telling])].filter(isThere).slice(0, MOST_LINES);
  return chosen
    .toSorted((a, b) => a - b)
    .flatMap((index, at, all) =>
      at > 0 && index > all[at - 1] + 1 ? ['…', lines[index]] : [lines[index]],
    );
}
