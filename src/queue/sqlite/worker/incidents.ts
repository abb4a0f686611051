/** What was reported of which incident. Ids and names are digests, since they may be of any length. */
import { createHash } from 'node:crypto';
import type { IncidentNews, IncidentReport } from '../../../incident/incident-store.ts';
import type { IncidentLimits, Operations } from '../protocol.ts';
import type { SqlValue } from './engine.ts';
import type { Moment, Transaction } from './transaction.ts';

interface IncidentRow {
  readonly number: number;
  readonly started_at: number;
  readonly seen_at: number;
  readonly on_log: number;
  readonly on_webhook: number;
}

/** Forgotten in one transaction: other processes wait meanwhile. */
const FORGOTTEN_INCIDENTS = 10;
const FORGOTTEN_NAMES = 1000;

const digest = (parts: readonly string[]): Uint8Array =>
  createHash('sha256').update(JSON.stringify(parts)).digest();

const keyOf = ({ applicationId, incidentId }: IncidentReport): Uint8Array =>
  digest([applicationId, incidentId]);

/** The column of a channel; both names are written here, and nothing of a caller. */
const COLUMN = { log: 'on_log', webhook: 'on_webhook' } as const;

function find({ database }: Transaction, report: IncidentReport): IncidentRow | undefined {
  return database.get('select * from incident where key = ?', keyOf(report));
}

export function tellIncident(
  transaction: Transaction,
  { report, limits }: Operations['tellIncident'][0],
  at: Moment,
): IncidentNews {
  const oldest = at.nowMs - limits.keptMs;
  let known = find(transaction, report);
  if (known !== undefined && known.seen_at < oldest) {
    forget(transaction, known.number);
    known = undefined;
  }
  const row = known ?? create(transaction, report, at.nowMs);
  const column = COLUMN[report.channel];
  transaction.database.run(
    `update incident set seen_at = ?, ${column} = 1 where number = ?`,
    at.nowMs,
    row.number,
  );
  const addNew = (kind: string, names: readonly string[]): string[] =>
    names.filter((name) => addName(transaction, row.number, [report.channel, kind, name]));
  const news = {
    isFirst: row[column] === 0,
    startedAt: row.started_at,
    newAddresses: addNew('ip', report.addresses),
    newAccounts: addNew('account', report.accounts),
  };
  forgetOthers(transaction, row.number, { limits, oldest });
  return news;
}

function create(transaction: Transaction, report: IncidentReport, nowMs: number): IncidentRow {
  transaction.state.incidents += 1;
  return transaction.database.get<IncidentRow>(
    'insert into incident (key, started_at, seen_at) values (?, ?, ?) returning *',
    keyOf(report),
    report.at,
    nowMs,
  ) as IncidentRow;
}

function addName(transaction: Transaction, number: number, parts: readonly string[]): boolean {
  const added = transaction.database.run(
    'insert or ignore into incident_name (incident, digest) values (?, ?)',
    number,
    digest(parts),
  );
  transaction.state.incident_names += added;
  return added > 0;
}

export function retractIncident(
  transaction: Transaction,
  { report, news }: Operations['retractIncident'][0],
): null {
  const known = find(transaction, report);
  if (known === undefined) return null;
  const { channel } = report;
  const removeNames = (kind: string, names: readonly string[]): void => {
    for (const name of names) {
      const values: SqlValue[] = [known.number, digest([channel, kind, name])];
      transaction.state.incident_names -= transaction.database.run(
        'delete from incident_name where incident = ? and digest = ?',
        ...values,
      );
    }
  };
  if (news.isFirst) {
    const sql = `update incident set ${COLUMN[channel]} = 0 where number = ?`;
    transaction.database.run(sql, known.number);
  }
  removeNames('ip', news.newAddresses);
  removeNames('account', news.newAccounts);
  return null;
}

/** Forgets the other incidents that are too old or too many, those seen longest ago first. */
function forgetOthers(
  transaction: Transaction,
  current: number,
  { limits, oldest }: { readonly limits: IncidentLimits; readonly oldest: number },
): void {
  const { database, state } = transaction;
  for (let count = 0; count < FORGOTTEN_INCIDENTS; count += 1) {
    const first = database.get(
      `select number, seen_at from incident where number <> ?
       order by seen_at, number limit 1`,
      current,
    );
    if (first === undefined) {
      forgetNames(transaction, Math.min(state.incident_names - limits.maxNames, FORGOTTEN_NAMES));
      return;
    }
    const isTooMany =
      state.incidents > limits.maxIncidents || state.incident_names > limits.maxNames;
    if (!isTooMany && Number(first['seen_at']) >= oldest) return;
    forget(transaction, Number(first['number']));
  }
}

function forget(transaction: Transaction, number: number): void {
  const { database, state } = transaction;
  state.incident_names -= database.run('delete from incident_name where incident = ?', number);
  state.incidents -= database.run('delete from incident where number = ?', number);
}

function forgetNames({ database, state }: Transaction, count: number): void {
  if (count <= 0) return;
  state.incident_names -= database.run(
    `delete from incident_name where (incident, digest) in
       (select incident, digest from incident_name limit ?)`,
    count,
  );
}
