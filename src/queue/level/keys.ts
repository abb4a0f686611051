/**
 * Where what lies in the store. A key is the letter of its table, then numbers of a fixed length with
 * their highest byte first, so that the store's order is the order in which the queue reads.
 */

/** Enough for a time in milliseconds or a count: 2^48. */
const LONG = 6;
const APPLICATION = 4;
const MAX_LONG = 2 ** 48 - 1;

const TABLES = {
  /** One row: the queue's time and its last numbers. */
  meta: 'M',
  /** application: its row, bounds and counts */
  application: 'a',
  /** application, sequence: a message that has not been claimed since it came in */
  fresh: 'f',
  /** application, sequence: the content of one that came from another queue */
  brought: 'b',
  /** application, time due, sequence: one that waits again */
  again: 'g',
  /** application, time of acceptance, sequence: when that one is due */
  age: 'h',
  /** application: the live claim */
  claim: 'c',
  /** number of the death: a dead letter */
  dead: 'x',
  /** application, number of the death */
  deadOf: 'y',
  /** digest: an incident, and what was told of it */
  incident: 'i',
  /** One row: how much there is of incidents. */
  incidents: 'I',
  /** time when it was last told of, number: which incident that was */
  seen: 'j',
  /** number of an incident, digest: a name that was told */
  named: 'k',
} as const;

export type Table = keyof typeof TABLES;

export interface Range {
  readonly gte: Buffer;
  readonly lt: Buffer;
}

/** Times before 1970 or after the year 10000 are of no use; ages that another queue tells may give them. */
export const storable = (time: number): number => Math.min(MAX_LONG, Math.max(0, Math.floor(time)));

function keyOf(table: Table, application?: number, ...longs: readonly number[]): Buffer {
  const start = application === undefined ? 1 : 1 + APPLICATION;
  const key = Buffer.allocUnsafe(start + longs.length * LONG);
  key.write(TABLES[table], 'latin1');
  if (application !== undefined) key.writeUInt32BE(application, 1);
  for (const [index, long] of longs.entries()) key.writeUIntBE(long, start + index * LONG, LONG);
  return key;
}

export const metaKey = (): Buffer => keyOf('meta');
export const applicationKey = (application: number): Buffer => keyOf('application', application);
export const claimKey = (application: number): Buffer => keyOf('claim', application);
export const freshKey = (application: number, sequence: number): Buffer =>
  keyOf('fresh', application, sequence);
export const broughtKey = (application: number, sequence: number): Buffer =>
  keyOf('brought', application, sequence);
export const againKey = (application: number, dueMs: number, sequence: number): Buffer =>
  keyOf('again', application, dueMs, sequence);
export const ageKey = (application: number, acceptedMs: number, sequence: number): Buffer =>
  keyOf('age', application, acceptedMs, sequence);
export const deadKey = (id: number): Buffer => keyOf('dead', undefined, id);
export const incidentKey = (digest: Buffer): Buffer => Buffer.concat([keyOf('incident'), digest]);
export const incidentsKey = (): Buffer => keyOf('incidents');
export const seenKey = (seenMs: number, number: number): Buffer =>
  keyOf('seen', undefined, seenMs, number);
export const namedKey = (number: number, digest: Buffer): Buffer =>
  Buffer.concat([keyOf('named', undefined, number), digest]);
export const deadOfKey = (application: number, id: number): Buffer =>
  keyOf('deadOf', application, id);

const TABLE_OF: ReadonlyMap<string, Table> = new Map(
  Object.entries(TABLES).map(([table, letter]) => [letter, table as Table]),
);

/** `undefined` of what this version does not write. */
export const tableOf = (key: Buffer): Table | undefined =>
  TABLE_OF.get(key.toString('latin1', 0, 1));

/** The last number of a key: a sequence, or the number of a death. */
export const lastOf = (key: Buffer): number => key.readUIntBE(key.length - LONG, LONG);

/** The number before it: a time. */
export const timeOf = (key: Buffer): number => key.readUIntBE(key.length - 2 * LONG, LONG);

/** The number of an incident. */
export const numberOfName = (key: Buffer): number => key.readUIntBE(1, LONG);

export const applicationOf = (key: Buffer): number => key.readUInt32BE(1);

/** All rows, whatever table they are of. */
export const EVERYTHING: Range = { gte: Buffer.alloc(1), lt: Buffer.alloc(64, 255) };

/** All of a table, or of an application in it. */
export function rangeOf(table: Table, application?: number): Range {
  const gte = keyOf(table, application);
  const lt = Buffer.from(gte);
  if (application === undefined) lt.writeUInt8(lt.readUInt8(0) + 1, 0);
  else lt.writeUInt32BE(application + 1, 1);
  return { gte, lt };
}

/** From a sequence on, and before another. */
export const freshRange = (application: number, from: number, to: number): Range => ({
  gte: freshKey(application, from),
  lt: freshKey(application, to),
});

/** Dead letters behind that number. */
export function deadRange(after: number, application?: number): Range {
  if (application === undefined) return { ...rangeOf('dead'), gte: deadKey(after + 1) };
  return { ...rangeOf('deadOf', application), gte: deadOfKey(application, after + 1) };
}

/** Incidents that were last told of at that time or later. */
export const seenRange = (fromMs: number): Range => ({
  ...rangeOf('seen'),
  gte: keyOf('seen', undefined, fromMs),
});

/** What was told by name of one incident. */
export const namedRange = (number: number): Range => ({
  gte: keyOf('named', undefined, number),
  lt: keyOf('named', undefined, number + 1),
});
