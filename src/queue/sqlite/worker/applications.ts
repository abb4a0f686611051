import type { ApplicationState, DeadLetteredMessage, Health } from '../../queue.ts';
import { fromText, toWhole } from '../../stored-values.ts';
import { evict } from './dead-letters.ts';
import { claimedSequences } from './live-claims.ts';
import {
  type Death,
  isIntact,
  moveToDeadLetters,
  readMessages,
  refreshFirstDue,
  reschedule,
  setAside,
} from './messages.ts';
import { type Application, type MessageRow, setState, stateOf } from './schema.ts';
import type { Context } from './store.ts';

type WaitingRow = Pick<MessageRow, 'sequence' | 'application' | 'accepted'>;

/** Number of rows that are read at a time in search of old messages. */
const PAGE = 200;

/** Makes dead letters of messages that were accepted too long ago and are not claimed. */
export function deadLetterOlderThan(
  context: Context,
  olderThanMs: number,
  maxMessages: number,
): DeadLetteredMessage[] {
  const limit = toWhole(maxMessages);
  const before = context.nowMs - olderThanMs;
  const isClaimed = claimedBy(context);
  const found: WaitingRow[] = [];
  // Messages are in the order of acceptance, except up to the last imported sequence. After it, the search ends
  // at the first page with a message that is young enough.
  for (let isMore = true, after = 0; isMore && found.length < limit; ) {
    const page = context.database.all<WaitingRow>(
      'select sequence, application, accepted from message where sequence > ? order by sequence limit ?',
      after,
      PAGE,
    );
    const old = page.filter(({ accepted }) => accepted < before);
    found.push(...old.filter((row) => !isClaimed(row)));
    after = page.at(-1)?.sequence ?? 0;
    const isOrdered = after >= context.store.state.imported_sequence;
    isMore = page.length === PAGE && (old.length === PAGE || !isOrdered);
  }
  const death = { reason: 'horizon-passed', lastAttempt: 'null' } as const;
  return moveAll(context, found.slice(0, limit), death);
}

/** Returns a function that returns whether a message is claimed. Reads each claim once. */
function claimedBy(context: Context): (row: WaitingRow) => boolean {
  const claims = new Map<number, ReadonlySet<number>>();
  return ({ application: number, sequence }) => {
    const application = context.store.byNumber(number);
    if (application === undefined) return false;
    const sequences = claims.get(number) ?? new Set(claimedSequences(context, application));
    claims.set(number, sequences);
    return sequences.has(sequence);
  };
}

/** Turns the messages into dead letters. Sets damaged ones aside. */
function moveAll(
  context: Context,
  rows: readonly WaitingRow[],
  death: Death,
): DeadLetteredMessage[] {
  const { store } = context;
  const changed = new Set<Application>();
  const moved: DeadLetteredMessage[] = [];
  for (const { sequence, application: number } of rows) {
    const application = store.byNumber(number);
    const [row] = readMessages(context, 'sequence = ?', sequence);
    if (application !== undefined) changed.add(application);
    if (row === undefined) continue;
    if (application === undefined || !isIntact(row)) setAside(context, row);
    else {
      moveToDeadLetters(context, application, { ...row, ...death });
      const { id: applicationId } = application;
      moved.push({ applicationId, messageId: fromText(row.message_id), sequence });
    }
  }
  for (const application of changed) {
    refreshFirstDue(store, application);
    reschedule(context, application);
  }
  evict(context);
  return moved;
}

export function deadLetterClosed(
  context: Context,
  applicationId: string,
  maxMessages: number,
): DeadLetteredMessage[] {
  const { store, database } = context;
  const application = store.find(applicationId);
  if (application?.health !== 'closed') return [];
  const isClaimed = claimedBy(context);
  const limit = toWhole(maxMessages);
  const rows = database
    .all<WaitingRow>(
      `select sequence, application, accepted from message
       where application = ? order by due, sequence limit ?`,
      application.number,
      limit + application.claimed,
    )
    .filter((row) => !isClaimed(row))
    .slice(0, limit);
  return moveAll(context, rows, { reason: 'destination-closed', lastAttempt: 'null' });
}

export function reopenApplication(context: Context, applicationId: string): void {
  const application = context.store.find(applicationId);
  if (application === undefined || application.health === 'healthy') return;
  const { circuitBreaker } = stateOf(application);
  setState(application, { ...context.settings.initialState, circuitBreaker });
  application.not_before = 0;
  reschedule(context, application);
  context.store.announceDue();
}

export function applicationState({ store }: Context, id: string): ApplicationState | undefined {
  const found = store.find(id);
  return found && stateOf(found);
}

const HEALTH_VALUES: readonly string[] = [
  'untried',
  'healthy',
  'failing',
  'closed',
] satisfies Health[];

/** Longer than any pause or lease: a time further ahead is damaged. */
const MAX_PAUSE_MS = 366 * 86_400_000;

/**
 * Repairs damaged times of applications: otherwise an application might never become ready. Called when the
 * file is opened. Reads one message of each application.
 */
export function repairTimes(context: Context): void {
  const { store, nowMs } = context;
  for (const { number } of context.database.all<Application>('select number from application')) {
    const application = store.byNumber(number) as Application;
    const before = { ...application };
    const latest = nowMs + MAX_PAUSE_MS;
    if (!HEALTH_VALUES.includes(application.health)) application.health = 'healthy';
    if (application.not_before > latest) application.not_before = 0;
    if (application.served_at > latest) application.served_at = 0;
    if (application.claim !== null && (application.lease_end ?? latest + 1) > latest)
      application.lease_end = nowMs;
    refreshFirstDue(store, application);
    if ((application.first_due ?? 0) > latest) setDamagedAside(context, application, latest);
    store.updateReadyAt(application);
    const keys = Object.keys(before) as (keyof Application)[];
    if (keys.some((key) => application[key] !== before[key])) store.reportDamage(application);
  }
}

/** Sets damaged messages aside whose due time is so late that they would never be claimed. */
function setDamagedAside(context: Context, application: Application, latest: number): void {
  const { number } = application;
  for (const row of readMessages(context, 'application = ? and due > ?', number, latest)) {
    if (!isIntact(row)) setAside(context, row);
  }
  refreshFirstDue(context.store, application);
}
