/** Groups of messages that stand alike: parting and joining them. */
import type { Group, Place } from './row.ts';

interface Placed {
  readonly places: readonly Place[];
}

export interface Waiting {
  readonly group: Group;
  readonly place: Place;
  readonly dueMs: number;
}

const dueMsOf = ({ dueMs }: Group, { acceptedMs }: Place): number => dueMs ?? acceptedMs;

export function* waitingIn(groups: readonly Group[]): Iterable<Waiting> {
  for (const group of groups) {
    for (const place of group.places) yield { group, place, dueMs: dueMsOf(group, place) };
  }
}

/** In the order of law 4. */
export const byDue = (one: Waiting, other: Waiting): number =>
  one.dueMs - other.dueMs || one.place.sequence - other.place.sequence;

/** One place as a group of its own. */
export const alone = ({ group, place }: Pick<Waiting, 'group' | 'place'>): Group => ({
  ...group,
  places: [place],
});

export const countOf = (groups: readonly Placed[]): number =>
  groups.reduce((sum, { places }) => sum + places.length, 0);

/** Joins neighbours that are alike; the order of the places stays. */
export const inRuns = <G extends Placed>(groups: readonly G[]): G[] => joined(groups, 'neighbours');

/** Joins all that are alike; their places ascend. */
export const together = (groups: readonly Group[]): Group[] =>
  joined(groups, 'all').map((group) => ({ ...group, places: group.places.toSorted(bySequence) }));

const bySequence = (one: Place, other: Place): number => one.sequence - other.sequence;

function joined<G extends Placed>(groups: readonly G[], which: 'all' | 'neighbours'): G[] {
  const made: { readonly group: G; readonly places: Place[] }[] = [];
  const latest = new Map<string, Place[]>();
  let last: string | undefined;
  for (const group of groups) {
    const key = keyOf(group);
    const alike = which === 'all' || key === last ? latest.get(key) : undefined;
    const places = alike ?? [];
    for (const place of group.places) places.push(place);
    if (alike === undefined) made.push({ group, places });
    latest.set(key, places);
    last = key;
  }
  return made.map(({ group, places }) => ({ ...group, places }));
}

/** All but the places. Properties come in whichever order they were written in. */
function keyOf(group: Placed): string {
  const state = Object.entries(group).filter(([name]) => name !== 'places');
  return JSON.stringify(state.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

/** Without the places of these sequences; groups that are not touched stay the same object. */
export function without(groups: readonly Group[], gone: ReadonlySet<number>): Group[] {
  if (gone.size === 0) return [...groups];
  return groups.flatMap((group) => {
    const places = group.places.filter(({ sequence }) => !gone.has(sequence));
    if (places.length === group.places.length) return [group];
    return places.length === 0 ? [] : [{ ...group, places }];
  });
}
