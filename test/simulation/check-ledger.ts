/** The ledger, as the queue counts it from its content, beside what was seen to happen. */
import type { Ledger, QueueStats } from '../../src/queue/queue.ts';
import type { Looked } from './backing.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

type Column = 'accepted' | 'delivered' | 'pending' | 'dead' | `discarded: ${string}`;
type Row = ReadonlyMap<Column, number>;

/** Both sides of one moment: the queue tells its own only later. */
export function checkLedger(world: World, queue: Looked | undefined): void {
  if (queue === undefined) return;
  const seen = seenByApplication(world);
  const seenBytes = pendingBytes(world);
  void queue.stats().then((stats) => {
    for (const [id, ledger] of stats.applications) {
      compare(world, { of: id, told: rowOf(ledger), seen: seen.get(id) ?? new Map() });
    }
    compare(world, { of: 'the sum', told: rowOf(stats), seen: sumOf(seen.values()) });
    world.check(
      stats.pendingBytes === seenBytes,
      'ledger',
      () => `${stats.pendingBytes} bytes wait instead of ${seenBytes}`,
    );
  });
}

function seenByApplication(world: World): ReadonlyMap<string, Row> {
  const rows = new Map<string, Map<Column, number>>();
  for (const { id, accepted } of world.book.applications.values()) {
    rows.set(id, new Map([['accepted', accepted]]));
  }
  for (const message of world.book.messages.values()) {
    const row = rows.get(message.applicationId);
    const column = columnOf(message);
    if (column !== undefined) row?.set(column, (row.get(column) ?? 0) + 1);
  }
  return rows;
}

/** What was delivered is known from its receiver, not from what the engine made of it. */
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
  readonly told: Row;
  readonly seen: Row;
}

function compare(world: World, { of, told, seen }: Sides): void {
  const columns = [...new Set([...told.keys(), ...seen.keys()])];
  const isEqual = columns.every((column) => (told.get(column) ?? 0) === (seen.get(column) ?? 0));
  // accepted = delivered + pending + dead + discarded (D70)
  const parts = [...told].filter(([column]) => column !== 'accepted');
  const sum = parts.reduce((total, [, count]) => total + count, 0);
  world.check(
    isEqual && told.get('accepted') === sum,
    'ledger',
    () => `${of}: the queue has ${text(told)}, seen was ${text(seen)}`,
  );
}

const text = (row: Row): string =>
  [...row].map(([column, count]) => `${column} ${count}`).join(', ');

function pendingBytes(world: World): number {
  let bytes = 0;
  for (const { state, sizeBytes } of world.book.messages.values()) {
    if (state === 'waiting' || state === 'claimed') bytes += sizeBytes;
  }
  return bytes;
}
