/** How many slips lie between two words: a letter too many, too few, another, or two that changed places. */
function slipsBetween(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const areSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          at(i - 1, j - 1) + (isSame ? 0 : 1),
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          areSwapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(a.length, b.length);
}

/** Beyond it no word of ours is near, and what was given may be of any length. */
const LONGEST = 40;

/** What was probably meant: the known word that begins so, or that a slip or two lie between. */
export function nearestWord(word: string, known: readonly string[]): string | undefined {
  if (word.length < 2 || word.length > LONGEST) return undefined;
  const begun = known.find((other) => other.startsWith(word));
  if (begun !== undefined) return begun;
  return known
    .map((other) => ({ other, slips: slipsBetween(word, other) }))
    .filter(({ other, slips }) => slips <= Math.min(2, other.length / 2))
    .toSorted((a, b) => a.slips - b.slips)[0]?.other;
}
