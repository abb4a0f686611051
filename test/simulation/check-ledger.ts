/** Compares the queue's ledger with the expected state. */
import type { Ledger } from '../../src/queue/queue.ts';
import type { QueueView } from './queue-backend.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

/** Counts of messages by column of the ledger, such as `dead` or `discarded: purged`. */
type Row = ReadonlyMap<string, number>;

const SUM = 'the sum';
/** Only in the sum. */
const BYTES = 'pending bytes';

/** Takes the expected values now, because the queue answers later. */
export function checkLedger(world: World, queue: QueueView | undefined): void {
  if (queue === undefined) return;
  const expected = expectedRows(world);
  void queue.stats().then((stats) => {
    for (const [id, ledger] of stats.applications) {
      compare(world, { of: id, actual: rowOf(ledger), expected: expected.get(id) ?? new Map() });
    }
    const actual = new Map([...rowOf(stats), [BYTES, stats.pendingBytes]]);
    compare(world, { of: SUM, actual, expected: expected.get(SUM) ?? new Map() });
  });
}

/** By application id, and the sum of all. */
function expectedRows({ expected }: World): ReadonlyMap<string, Row> {
  const rows = new Map<string, Map<string, number>>();
  const add = (of: string, column: string, by: number): void => {
    const row = rows.get(of) ?? new Map<string, number>();
    rows.set(of, row.set(column, (row.get(column) ?? 0) + by));
  };
  const addToBoth = (id: string, column: string, by: number): void => {
    add(id, column, by);
    add(SUM, column, by);
  };
  for (const { id, accepted } of expected.applications.values())
    addToBoth(id, 'accepted', accepted);
  for (const message of expected.messages.values()) {
    const column = columnOf(message);
    if (column !== undefined) addToBoth(message.applicationId, column, 1);
    if (column === 'pending') add(SUM, BYTES, message.sizeBytes);
  }
  return rows;
}

/** A delivery counts only if the receiver confirmed it. */
function columnOf({ state, confirmed, discardReason }: Tracked): string | undefined {
  if (state === 'waiting' || state === 'claimed') return 'pending';
  if (state === 'discarded') return `discarded: ${discardReason}`;
  return state === 'entering' || (state === 'delivered' && confirmed === 0) ? undefined : state;
}

const rowOf = ({ accepted, delivered, pending, dead, discarded }: Ledger): Row => {
  const reasons = Object.entries(discarded).map(
    ([reason, count]) => [`discarded: ${reason}`, count] as const,
  );
  return new Map([...Object.entries({ accepted, delivered, pending, dead }), ...reasons]);
};

interface Sides {
  readonly of: string;
  readonly actual: Row;
  readonly expected: Row;
}

/** Also checks that accepted = delivered + pending + dead + discarded (D70). */
function compare(world: World, { of, actual, expected }: Sides): void {
  const parts = [...actual].filter(([column]) => column !== 'accepted' && column !== BYTES);
  const sum = parts.reduce((total, [, count]) => total + count, 0);
  world.check(
    text(actual) === text(expected) && actual.get('accepted') === sum,
    'ledger',
    () => `${of}: the queue has ${text(actual)}, expected ${text(expected)}`,
  );
}

const text = (row: Row): string => {
  const used = [...row].filter(([, count]) => count !== 0);
  return used
    .map(([column, count]) => `${column} ${count}`)
    .toSorted()
    .join(', ');
};
