/** The schema's functions, each as a call. */
import { SecurityEventError } from '../../errors.ts';
import type {
  ApplicationState,
  ApplicationUpdate,
  Backlog,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterPage,
  EnqueueResult,
  ExpiredMessage,
  MessageResult,
  QueueEntry,
  QueueStats,
  SequenceRange,
} from '../queue.ts';
import {
  type ClaimName,
  RESULT_TYPES,
  resultArrays,
  STATE_TYPES,
  stateOf,
  stateValues,
} from './claims.ts';
import type { Database, Row } from './database.ts';
import {
  behind,
  deadLetterPage,
  FILTER_TYPES,
  filterValues,
  type PageRequest,
} from './dead-letter-rows.ts';
import { ENTRY_TYPES, entryArrays } from './entries.ts';
import { statsOf } from './postgres-stats.ts';
import { fromText, toText, toWhole } from './words.ts';

export interface Bounds {
  readonly maxPendingMessages: number;
  readonly maxPendingBytes: number;
}

/** Dead letters in one transaction of a `replay` or `purge`. */
const PAGE = 1000;

const ENQUEUE_TYPES = [
  'text[]',
  ...STATE_TYPES,
  'double precision',
  'bigint',
  'bigint',
  ...ENTRY_TYPES,
];

const CLAIM_TYPES = ['text[]', 'bigint', 'bigint', 'double precision'];

const SETTLE_TYPES = ['bigint', 'bigint', ...RESULT_TYPES, ...STATE_TYPES, 'double precision'];

const RELEASE_TYPES = ['bigint', 'bigint', ...STATE_TYPES, 'double precision'];

const REPLAY_TYPES = [...FILTER_TYPES, 'bigint', 'bigint', 'bigint', 'bigint'];

const PURGE_TYPES = [...FILTER_TYPES, 'bigint', 'bigint'];

export class Calls {
  readonly #database: Database;
  readonly #bounds: Bounds;

  constructor(database: Database, bounds: Bounds) {
    this.#database = database;
    this.#bounds = bounds;
  }

  /** Rejects with ERR_QUEUE_FULL where there is no room. */
  async enqueue(
    entries: readonly QueueEntry[],
    delayMs: number,
    initialState: ApplicationState,
  ): Promise<EnqueueResult> {
    const { ids, values } = entryArrays(entries);
    const { maxPendingMessages, maxPendingBytes } = this.#bounds;
    const answer = await this.#database.one('enqueue', ENQUEUE_TYPES, [
      ids,
      ...stateValues(initialState),
      delayMs,
      maxPendingMessages,
      maxPendingBytes,
      ...values,
    ]);
    refuseOverflow(answer, this.#bounds);
    return {
      sequences: ((answer['sequences'] ?? []) as string[]).map(Number),
      closed: ((answer['closed'] ?? []) as string[]).map(fromText),
    };
  }

  /** Rings on that channel, where there is one, in the name of that caller. */
  async fold(channel: string | null, caller: string): Promise<void> {
    await this.#database.one('fold', ['text', 'text'], [channel, caller]);
  }

  /** Where nothing can be claimed its `claim` is null. */
  claim(request: ClaimRequest): Promise<Row> {
    const { tiers, maxMessages, maxBytes, leaseMs } = request;
    const values = [tiers, toWhole(maxMessages), toWhole(maxBytes), leaseMs];
    return this.#database.one('claim', CLAIM_TYPES, values);
  }

  /** Returns false when the claim is lost. Rejects unless there is a result for each message. */
  async settle(
    { application, claim }: ClaimName,
    results: readonly MessageResult[],
    state: ApplicationUpdate,
  ): Promise<boolean> {
    const { claimed } = await this.#database.one('settle', SETTLE_TYPES, [
      application,
      claim,
      ...resultArrays(results),
      ...stateValues(state),
      state.pauseMs,
    ]);
    if (claimed === null) return false;
    if (Number(claimed) === results.length) return true;
    const detail = `${results.length} results for ${Number(claimed)} messages`;
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }

  async release({ application, claim }: ClaimName, state?: ApplicationUpdate): Promise<boolean> {
    const values = state === undefined ? STATE_TYPES.map(() => null) : stateValues(state);
    const args = [application, claim, ...values, state?.pauseMs ?? null];
    return (await this.#database.one('release', RELEASE_TYPES, args))['release'] === true;
  }

  async extend({ application, claim }: ClaimName, leaseMs: number): Promise<boolean> {
    const types = ['bigint', 'bigint', 'double precision'];
    const answer = await this.#database.one('extend', types, [application, claim, leaseMs]);
    return answer['extend'] === true;
  }

  async expire(olderThanMs: number, maxMessages: number): Promise<ExpiredMessage[]> {
    const values = [olderThanMs, toWhole(maxMessages)];
    return expiredOf(await this.#database.call('expire', ['double precision', 'bigint'], values));
  }

  async closeApplication(
    applicationId: string,
    initialState: ApplicationState,
    maxMessages: number,
  ): Promise<ExpiredMessage[]> {
    const types = ['text', ...STATE_TYPES.slice(1)];
    const values = [toText(applicationId), ...stateValues(initialState).slice(1)];
    // Its own transaction: what comes in is kept waiting for no longer than this.
    const { shut } = await this.#database.one('shut', types, values);
    const page = [shut, toWhole(maxMessages)];
    return expiredOf(await this.#database.call('close_page', ['bigint', 'bigint'], page));
  }

  async reopen(applicationId: string, initialState: ApplicationState): Promise<void> {
    const values = [toText(applicationId), ...stateValues(initialState)];
    await this.#database.call('reopen', ['text', ...STATE_TYPES], values);
  }

  async applicationState(applicationId: string): Promise<ApplicationState | undefined> {
    const rows = await this.#database.call('application_state', ['text'], [toText(applicationId)]);
    return rows[0] && stateOf(rows[0]);
  }

  async deadLetters({ limit, after, ...filter }: PageRequest): Promise<DeadLetterPage> {
    const values = [...filterValues(filter), behind(after), toWhole(limit) + 1];
    const types = [...FILTER_TYPES, 'bigint', 'bigint'];
    return deadLetterPage(await this.#database.call('dead_letters', types, values), limit);
  }

  async replay(filter: DeadLetterFilter): Promise<number> {
    const { maxPendingMessages, maxPendingBytes } = this.#bounds;
    return await inPages('replayed', (after) => {
      const values = [...filterValues(filter), maxPendingMessages, maxPendingBytes, after, PAGE];
      return this.#database.one('replay', REPLAY_TYPES, values);
    });
  }

  async purge(filter: DeadLetterFilter): Promise<number> {
    return await inPages('discarded', (after) => {
      const values = [...filterValues(filter), after, PAGE];
      return this.#database.one('purge', PURGE_TYPES, values);
    });
  }

  async stats(): Promise<QueueStats> {
    return statsOf(await this.#database.call('stats', [], []));
  }

  async countPending(ranges: readonly SequenceRange[]): Promise<number> {
    const values = [ranges.map(({ from }) => from), ranges.map(({ to }) => to)];
    const answer = await this.#database.one('count_pending', ['bigint[]', 'bigint[]'], values);
    return Number(answer['count_pending']);
  }

  async backlog(): Promise<Backlog> {
    const answer = await this.#database.one('backlog', [], []);
    return {
      dueMessages: Number(answer['due_messages']),
      lastSequence: Number(answer['last_sequence']),
    };
  }

  /** How many messages wait in all. */
  async waiting(): Promise<number> {
    return Number((await this.#database.one('waiting', [], []))['messages']);
  }
}

/** @throws SecurityEventError `ERR_QUEUE_FULL` when nothing was stored since there is no room */
export function refuseOverflow({ passed: bound, messages, bytes }: Row, bounds: Bounds): void {
  if (bound !== 'maxPendingMessages' && bound !== 'maxPendingBytes') return;
  const more = `${String(messages)} messages of ${String(bytes)} bytes`;
  const detail = `${more} would pass ${bound} (${bounds[bound]})`;
  throw new SecurityEventError('ERR_QUEUE_FULL', { detail, path: [bound] });
}

const expiredOf = (rows: readonly Row[]): ExpiredMessage[] =>
  rows.map((row) => ({
    applicationId: fromText(String(row['application'])),
    messageId: fromText(String(row['message_id'])),
    sequence: Number(row['sequence']),
  }));

/** Each page is a transaction; the sum of what they tell. */
async function inPages(count: string, page: (after: unknown) => Promise<Row>): Promise<number> {
  let sum = 0;
  let after: unknown = 0;
  while (after !== null) {
    const answer = await page(after);
    sum += Number(answer[count]);
    after = answer['looked_at'];
  }
  return sum;
}
