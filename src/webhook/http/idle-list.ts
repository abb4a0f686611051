/** Which idle item serves next, and which has to go when there are too many. Pure bookkeeping. */

export interface IdleList<Item> {
  /** The one that became idle last under this key: the likeliest to be alive. */
  take(key: string): Item | undefined;
  /** Hands back what has to go: the longest idle of all, where there are more than `maxItems`. */
  add(item: Item): Item | undefined;
  /** Whether it was idle. */
  remove(item: Item): boolean;
}

export function createIdleList<Item extends { readonly key: string }>(
  maxItems: number,
): IdleList<Item> {
  // A set keeps its order: the longest idle comes first.
  const all = new Set<Item>();
  const byKey = new Map<string, Item[]>();

  const remove = (item: Item): boolean => {
    if (!all.delete(item)) return false;
    const others = (byKey.get(item.key) ?? []).filter((other) => other !== item);
    if (others.length === 0) byKey.delete(item.key);
    else byKey.set(item.key, others);
    return true;
  };

  return {
    take: (key) => {
      const item = byKey.get(key)?.at(-1);
      if (item !== undefined) remove(item);
      return item;
    },
    add: (item) => {
      all.add(item);
      byKey.set(item.key, [...(byKey.get(item.key) ?? []), item]);
      if (all.size <= maxItems) return undefined;
      const [oldest] = all;
      if (oldest !== undefined) remove(oldest);
      return oldest;
    },
    remove,
  };
}
