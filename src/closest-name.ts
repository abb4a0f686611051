/** Returns the known name that the user probably meant: one with the same beginning, or with one wrong letter. */
export function closestName(given: string, known: readonly string[]): string | undefined {
  // Without dashes, so that `secretfile` means `secret-file`.
  const wanted = given.slice(0, MAX_LENGTH).replaceAll('-', '');
  const candidates = known.map((name) => {
    const other = name.replaceAll('-', '');
    const prefix = commonPrefix(wanted, other);
    const rest = Math.min(wanted.length, other.length) - prefix;
    const suffix = Math.min(rest, commonSuffix(wanted, other));
    const common = prefix + suffix;
    const hasSameBeginning =
      prefix >= 2 &&
      wanted.length <= other.length + 2 &&
      (prefix >= other.length / 2 || suffix >= other.length / 3);
    // Two letters differ if they were exchanged.
    const maxDifferent = wanted.length === other.length ? 2 : 1;
    const isTypo = common >= 2 && Math.max(wanted.length, other.length) - common <= maxDifferent;
    return { name, isClose: hasSameBeginning || isTypo, common };
  });
  return candidates.filter(({ isClose }) => isClose).toSorted((a, b) => b.common - a.common)[0]
    ?.name;
}

/** Returns the question that ends an error about an unknown name, or an empty text. */
export function suggestion(given: string, known: readonly string[]): string {
  const near = closestName(given, known);
  return near === undefined ? '' : `; did you mean ${JSON.stringify(near)}?`;
}

/** Longer than every name. */
const MAX_LENGTH = 64;

function commonPrefix(a: string, b: string): number {
  let length = 0;
  while (length < b.length && a[length] === b[length]) length += 1;
  return length;
}

function commonSuffix(a: string, b: string): number {
  let length = 0;
  while (length < b.length && a.at(-1 - length) === b.at(-1 - length)) length += 1;
  return length;
}
