/** Many messages as they are told of: by what they have in common. */
interface Tally<T> {
  readonly first: T;
  count: number;
}

/** How many there are of each key, in the order in which the keys come. */
export function tallies<T>(
  list: readonly T[],
  keyOf: (one: T) => string,
): Iterable<Readonly<Tally<T>>> {
  if (list.length === 0) return [];
  const found = new Map<string, Tally<T>>();
  let last: Tally<T> | undefined;
  let lastKey: string | undefined;
  for (const one of list) {
    const key = keyOf(one);
    // Mostly one follows another of its key: that is not looked up.
    if (last === undefined || key !== lastKey) {
      last = found.get(key);
      lastKey = key;
    }
    if (last === undefined) {
      last = { first: one, count: 0 };
      found.set(key, last);
    }
    last.count += 1;
  }
  return found.values();
}
