/** Stores messages. Calls that arrive at the same time share a transaction. */
import { SecurityEventError } from '../../errors.ts';
import type { EnqueueResult, QueueEntry } from '../queue.ts';
import { fromText, toText } from '../stored-values.ts';
import { Batcher, type BatcherParts } from './batcher.ts';
import { type StateJson, toDuration } from './conversions.ts';
import type { Database } from './database.ts';
import type { ReadOptions } from './options.ts';
import type { Settings } from './schema.ts';

/** Maximum size of one transaction, unless a single call is larger. */
const MAX_MESSAGES = 2000;
const MAX_BYTES = 8 * 1024 * 1024;

/** Longest id that PostgreSQL's index of applications takes. */
const MAX_ID_BYTES = 2690;

export interface EnqueueCall {
  readonly entries: readonly QueueEntry[];
  readonly delayMs: number;
}

/** Creates the batcher of `enqueue`. It runs one batch at a time, so that sequences rise from call to call. */
export const enqueueBatcher = (
  parts: Pick<BatcherParts<EnqueueCall, EnqueueResult>, 'run' | 'callTimeoutMs' | 'monotonicMs'>,
): Batcher<EnqueueCall, EnqueueResult> =>
  new Batcher({ ...parts, sizeOf, maxSize: MAX_MESSAGES, keyOf, maxBatches: 1 });

const keyOf = ({ delayMs }: EnqueueCall): number => delayMs;

function sizeOf({ entries }: EnqueueCall): number {
  const bytes = entries.reduce((sum, { stored }) => sum + stored.bytes.length, 0);
  return Math.max(entries.length, (bytes / MAX_BYTES) * MAX_MESSAGES);
}

/** The bounds of the queue, and the state of an application before its first settle. */
export type Limits = Bounds & { readonly initialState: StateJson | undefined };

type Bounds = Pick<ReadOptions, 'maxPendingMessages' | 'maxPendingBytes'>;

/** The answer when the messages would have passed a bound, so that none was stored. */
export interface Overflow {
  readonly full: keyof Bounds;
  readonly messages: number;
  readonly bytes: number;
}

export function overflowError(overflow: Overflow, limits: Limits): SecurityEventError {
  const { full, messages, bytes } = overflow;
  const detail = `${messages} messages of ${bytes} bytes would pass ${full} (${limits[full]})`;
  return new SecurityEventError('ERR_QUEUE_FULL', { detail, path: [full] });
}

type EnqueueAnswer =
  | Overflow
  | (Settings & { readonly full?: never; readonly sequences: number[]; readonly closed: string[] });

/** Stores the entries of all calls, or none. Rejects with ERR_QUEUE_FULL if they would pass a bound. */
export async function storeEntries(
  calls: readonly EnqueueCall[],
  limits: Limits,
  { database, timeoutMs }: { readonly database: Database; readonly timeoutMs: number },
): Promise<EnqueueResult[]> {
  const { args, content } = entryArguments(calls.flatMap(({ entries }) => entries));
  const allArgs = { ...args, ...limits, delayMs: toDuration(calls[0]?.delayMs ?? 0) };
  const options = { content, timeoutMs };
  const answer = (await database.call('enqueue', allArgs, options)) as EnqueueAnswer;
  if (answer.full !== undefined) throw overflowError(answer, limits);
  database.noteSettings(answer);
  return resultsOfCalls(calls, {
    sequences: answer.sequences,
    closed: answer.closed.map(fromText),
  });
}

/** Returns the arguments of the schema's `enqueue`: the entries as columns, and all of their bytes. */
function entryArguments(entries: readonly QueueEntry[]) {
  const places = new Map<string, number>();
  const owners: number[] = [];
  const starts: number[] = [];
  let end = 0;
  for (const { applicationId, stored } of entries) {
    const place = places.get(applicationId) ?? places.size + 1;
    places.set(applicationId, place);
    owners.push(place);
    starts.push(end);
    end += stored.bytes.length;
  }
  const messages = entries.map(({ stored }) => stored);
  const args = {
    ids: Array.from(places.keys(), toText),
    owners,
    starts,
    messageIds: messages.map(({ messageId }) => toText(messageId)),
    formats: messages.map(({ format }) => format),
    lengths: messages.map(({ bytes }) => bytes.length),
    dateAts: messages.map(({ dateAt }) => dateAt),
    countAts: messages.map(({ countAt }) => countAt),
    sizes: entries.map(({ sizeBytes }) => sizeBytes),
  };
  const contents = messages.map(({ bytes }) => bytes);
  return { args, content: Buffer.concat(contents, end) };
}

export function resultsOfCalls(
  calls: readonly EnqueueCall[],
  { sequences, closed }: EnqueueResult,
): EnqueueResult[] {
  const isClosed = new Set(closed);
  let end = 0;
  return calls.map(({ entries }) => {
    const start = end;
    const applicationIds = new Set(entries.map(({ applicationId }) => applicationId));
    for (const { applicationId } of entries) if (!isClosed.has(applicationId)) end += 1;
    return {
      sequences: sequences.slice(start, end),
      closed: closed.filter((id) => applicationIds.has(id)),
    };
  });
}

/**
 * Rejects an id that is longer than the database allows with ERR_MESSAGE_TOO_LARGE, before anything is
 * stored: the server would not say which entry it refuses.
 */
export function checkIds(entries: readonly QueueEntry[]): void {
  let known: string | undefined;
  for (const [index, { applicationId }] of entries.entries()) {
    if (applicationId === known) continue;
    known = applicationId;
    const bytes = Buffer.byteLength(toText(applicationId));
    if (bytes <= MAX_ID_BYTES) continue;
    const detail = `an application's id of ${bytes} bytes is longer than PostgreSQL's index takes (${MAX_ID_BYTES})`;
    throw new SecurityEventError('ERR_MESSAGE_TOO_LARGE', { detail, path: [index] });
  }
}
