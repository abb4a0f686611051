/** What lies in a row, by its key. */
import type { DamagedRow } from './damage.ts';
import { type Table, tableOf } from './keys.ts';

const KINDS: Readonly<Record<Table, DamagedRow>> = {
  meta: 'queue',
  application: 'application',
  fresh: 'message',
  brought: 'message',
  again: 'wait',
  age: 'wait',
  claim: 'claim',
  dead: 'dead-letter',
  deadOf: 'dead-letter',
  incident: 'incident',
  incidents: 'incident',
  seen: 'incident',
  named: 'incident',
};

export function kindOf(key: Buffer): DamagedRow {
  const table = tableOf(key);
  return table === undefined ? 'unknown' : KINDS[table];
}
