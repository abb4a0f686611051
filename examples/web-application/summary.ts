/** What was expected and what arrived, side by side. */

export interface Line {
  readonly what: string;
  readonly expected: number;
  readonly arrived: number;
}

export type Counts = Readonly<Record<string, number>>;

export const isAsExpected = ({ expected, arrived }: Line): boolean => expected === arrived;

/** How often each word occurs. */
export function countWords(words: readonly string[]): Counts {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

/** A line for every word that was expected, and one for every word that nobody expected. */
export const compare = (expected: Counts, arrived: Counts): Line[] =>
  Object.keys({ ...expected, ...arrived }).map((what) => ({
    what,
    expected: expected[what] ?? 0,
    arrived: arrived[what] ?? 0,
  }));

const row = (what: string, expected: string | number, arrived: string | number): string =>
  what.padEnd(40) + String(expected).padStart(10) + String(arrived).padStart(10);

export function renderTable(title: string, lines: readonly Line[]): string {
  const body = lines.map((line) => {
    const text = row(`  ${line.what}`, line.expected, line.arrived);
    return isAsExpected(line) ? text : `${text}   <- differs`;
  });
  return [row(title, 'expected', 'arrived'), ...body].join('\n');
}
