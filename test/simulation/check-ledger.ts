/** Compares the queue's ledger with the expected state. */
import type { Ledger, QueueStats } from '../../src/queue/queue.ts';
import type { QueueView } from './queue-backend.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

type Column = 'accepted' | 'delivered' | 'pending' | 'dead' | `discarded: ${string}`;
type Row = ReadonlyMap<Column, number>;

/** Takes the expected values now, because the queue answers later. */
export function checkLedger(world: World, queue: QueueView | undefined): void {
  if (queue === undefined) return;
  const expected = expectedByApplication(world);
  const expectedBytes = pendingBytes(world);
  void queue.stats().then((stats) => {
    for (const [id, ledger] of stats.applications) {
      compare(world, { of: id, actual: rowOf(ledger), expected: expected.get(id) ?? new Map() });
    }
    compare(world, { of: 'the sum', actual: rowOf(stats), expected: sumOf(expected.values()) });
    world.check(
      stats.pendingBytes === expectedBytes,
      'ledger',
      () => `${stats.pendingBytes} bytes are pending instead of ${expectedBytes}`,
    );
  });
}

function expectedByApplication(world: World): ReadonlyMap<string, Row> {
  const rows = new Map<string, Map<Column, number>>();
  for (const { id, accepted } of world.expected.applications.values()) {
    rows.set(id, new Map([['accepted', accepted]]));
  }
  for (const message of world.expected.messages.values()) {
    const row = rows.get(message.applicationId);
    const column = columnOf(message);
    if (column !== undefined) row?.set(column, (row.get(column) ?? 0) + 1);
  }
  return rows;
}

/** A delivery counts only if the receiver confirmed it. */
function columnOf({ state, confirmed, discardReason }: Tracked): Column | undefined {
  switch (state) {
    case 'entering':
      return undefined;
    case 'waiting':
    case 'claimed':
      return 'pending';
    case 'delivered':
      return confirmed > 0 ? 'delivered' : undefined;
    case 'dead':
      return 'dead';
    default:
      return `discarded: ${discardReason}`;
  }
}

function rowOf({ accepted, delivered, pending, dead, discarded }: Ledger | QueueStats): Row {
  const reasons = Object.entries(discarded).map(
    ([reason, count]) => [`discarded: ${reason}`, count] as const,
  );
  return new Map<Column, number>([
    ['accepted', accepted],
    ['delivered', delivered],
    ['pending', pending],
    ['dead', dead],
    ...reasons,
  ]);
}

function sumOf(rows: Iterable<Row>): Row {
  const sum = new Map<Column, number>();
  for (const row of rows) {
    for (const [column, count] of row) sum.set(column, (sum.get(column) ?? 0) + count);
  }
  return sum;
}

interface Sides {
  readonly of: string;
  readonly actual: Row;
  readonly expected: Row;
}

function compare(world: World, { of, actual, expected }: Sides): void {
  const columns = [...new Set([...actual.keys(), ...expected.keys()])];
  const isEqual = columns.every((name) => (actual.get(name) ?? 0) === (expected.get(name) ?? 0));
  // accepted = delivered + pending + dead + discarded (D70)
  const parts = [...actual].filter(([column]) => column !== 'accepted');
  const sum = parts.reduce((total, [, count]) => total + count, 0);
  world.check(
    isEqual && actual.get('accepted') === sum,
    'ledger',
    () => `${of}: the queue has ${text(actual)}, expected ${text(expected)}`,
  );
}

const text = (row: Row): string =>
  [...row].map(([column, count]) => `${column} ${count}`).join(', ');

function pendingBytes(world: World): number {
  let bytes = 0;
  for (const { state, sizeBytes } of world.expected.messages.values()) {
    if (state === 'waiting' || state === 'claimed') bytes += sizeBytes;
  }
  return bytes;
}
