/** Stores which addresses and accounts of each incident were reported. */
import {
  digestOf,
  type IncidentChanges,
  type IncidentLimits,
  type IncidentReport,
} from '../../../incident/incident-store.ts';
import type { IncidentRow } from './schema.ts';
import type { Context } from './store.ts';

/** A call deletes at most this many incidents, with all their names, since other processes wait for it. */
const FORGOTTEN_INCIDENTS = 10;
/** Maximum number of names that a call deletes of an incident that is kept. */
const FORGOTTEN_NAMES = 1000;

const keyOf = ({ applicationId, incidentId }: IncidentReport): Uint8Array =>
  digestOf([applicationId, incidentId]);

const COLUMN = { log: 'on_log', webhook: 'on_webhook' } as const;

const find = ({ database }: Context, report: IncidentReport): IncidentRow | undefined =>
  database.get('select * from incident where key = ?', keyOf(report));

export function recordIncident(
  context: Context,
  report: IncidentReport,
  limits: IncidentLimits,
): IncidentChanges {
  const { database, nowMs } = context;
  const oldest = nowMs - limits.retentionMs;
  let known = find(context, report);
  if (known !== undefined && known.seen_at < oldest) {
    forget(context, known.number);
    known = undefined;
  }
  const row = known ?? create(context, report);
  const column = COLUMN[report.channel];
  const update = `update incident set seen_at = ?, ${column} = 1 where number = ?`;
  database.run(update, nowMs, row.number);
  const addNew = (kind: string, names: readonly string[]): string[] =>
    names.filter((name) => addName(context, row.number, [report.channel, kind, name]));
  const changes = {
    isFirst: row[column] === 0,
    startedAt: row.started_at,
    newAddresses: addNew('ip', report.addresses),
    newAccounts: addNew('account', report.accounts),
  };
  forgetOthers(context, row.number, { limits, oldest });
  return changes;
}

function create({ store, database, nowMs }: Context, report: IncidentReport): IncidentRow {
  store.state.incidents += 1;
  return database.get<IncidentRow>(
    'insert into incident (key, started_at, seen_at) values (?, ?, ?) returning *',
    keyOf(report),
    report.at,
    nowMs,
  ) as IncidentRow;
}

function addName({ store, database }: Context, number: number, parts: readonly string[]): boolean {
  const added = database.run(
    'insert or ignore into incident_name (incident, digest) values (?, ?)',
    number,
    digestOf(parts),
  );
  store.state.incident_names += added;
  return added > 0;
}

export function retractIncident(
  context: Context,
  report: IncidentReport,
  changes: IncidentChanges,
): void {
  const { store, database } = context;
  const known = find(context, report);
  if (known?.started_at !== changes.startedAt) return;
  const { channel } = report;
  if (changes.isFirst)
    database.run(`update incident set ${COLUMN[channel]} = 0 where number = ?`, known.number);
  const added = { ip: changes.newAddresses, account: changes.newAccounts };
  for (const [kind, names] of Object.entries(added))
    for (const name of names)
      store.state.incident_names -= database.run(
        'delete from incident_name where incident = ? and digest = ?',
        known.number,
        digestOf([channel, kind, name]),
      );
}

/** Deletes other incidents that are too old or too many, the least recently seen first. */
function forgetOthers(
  context: Context,
  current: number,
  { limits, oldest }: { readonly limits: IncidentLimits; readonly oldest: number },
): void {
  const { state } = context.store;
  for (let count = 0; count < FORGOTTEN_INCIDENTS; count += 1) {
    const first = context.database.get<IncidentRow>(
      'select number, seen_at from incident where number <> ? order by seen_at, number limit 1',
      current,
    );
    if (first === undefined) {
      forgetNames(
        context,
        Math.min(state.incident_names - limits.maxAddressesAndAccounts, FORGOTTEN_NAMES),
      );
      return;
    }
    const isTooMany =
      state.incidents > limits.maxIncidents ||
      state.incident_names > limits.maxAddressesAndAccounts;
    if (!isTooMany && first.seen_at >= oldest) return;
    forget(context, first.number);
  }
}

function forget({ store, database }: Context, number: number): void {
  const { state } = store;
  state.incident_names -= database.run('delete from incident_name where incident = ?', number);
  state.incidents -= database.run('delete from incident where number = ?', number);
}

function forgetNames({ store, database }: Context, count: number): void {
  if (count <= 0) return;
  store.state.incident_names -= database.run(
    `delete from incident_name where (incident, digest) in
       (select incident, digest from incident_name limit ?)`,
    count,
  );
}
