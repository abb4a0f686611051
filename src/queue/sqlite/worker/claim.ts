import type { Format } from '../../queue.ts';
import type { ClaimedTuple, Operations } from '../protocol.ts';
import { toWhole } from '../protocol.ts';
import { bodyChecksum, progressChecksum } from './checksum.ts';
import { refreshFirstDue } from './repair.ts';
import { fromText } from './text.ts';
import type { Application, Moment, Transaction } from './transaction.ts';
import { place } from './waiting.ts';

type Request = Operations['claim'][0];

export type MessageTuple = readonly [
  sequence: number,
  due: number,
  accepted: number,
  sends: number,
  maxMessages: number | null,
  progress: string | null,
  progressChecksum: number,
  messageId: string,
  format: Format,
  dateAt: number,
  countAt: number,
  sizeBytes: number,
  bodyChecksum: number,
  body: Uint8Array,
];

export const COLUMNS = `sequence, due, accepted, sends, max_messages, progress, progress_checksum,
  message_id, format, date_at, count_at, size_bytes, body_checksum, body`;

/** Messages in due order. A claim reads only as many bodies as its bytes allow, a page at a time. */
const SELECT_DUE = `
  select ${COLUMNS} from message
  where application = ?1 and due <= ?2 and (due, sequence) > (?3, ?4)
  order by due, sequence limit ?5`;

const FIRST_READY = `
  select number, ready_at, turn from application
  where tier = ? and ready_at is not null order by ready_at, turn limit 1`;

/** Messages that are read before the size of their bodies is known. */
const FIRST_PAGE = 16;
const PAGE_BYTES = 4_000_000;

interface Taken {
  readonly format: Format;
  readonly messages: MessageTuple[];
  readonly bytes: number;
}

/** What an answer carries beside its value. */
export interface Outgoing {
  readonly at: Moment;
  readonly send: (body: Uint8Array) => void;
}

/** Leases the due messages of the application whose turn it is. */
export function claim(
  transaction: Transaction,
  request: Request,
  { at, send }: Outgoing,
): Operations['claim'][1] {
  for (;;) {
    const candidate = nextApplication(transaction, request.tiers);
    if (candidate === undefined) return {};
    if (candidate.readyAt > at.nowMs) return { dueInMs: candidate.readyAt - at.nowMs };
    const application = transaction.byNumber(candidate.number) as Application;
    const taken = takeMessages(transaction, application, { request, nowMs: at.nowMs });
    if (taken !== undefined) {
      for (const message of taken.messages) send(message[13]);
      return lease(transaction, { application, taken, request, at });
    }
    // Its messages were damaged: the first due time is another one.
    refreshFirstDue(transaction, application);
    place(transaction, application, at.nowMs);
  }
}

/** The one that has been ready for longest. */
function nextApplication(transaction: Transaction, tiers: Request['tiers']) {
  transaction.flushApplications();
  let first:
    | { readonly number: number; readonly readyAt: number; readonly turn: number }
    | undefined;
  for (const tier of tiers) {
    const row = transaction.database.get(FIRST_READY, tier);
    if (row === undefined) continue;
    const [number, readyAt, turn] = [row['number'], row['ready_at'], row['turn']].map(Number) as [
      number,
      number,
      number,
    ];
    const isBefore =
      first === undefined ||
      readyAt < first.readyAt ||
      (readyAt === first.readyAt && turn < first.turn);
    if (isBefore) first = { number, readyAt, turn };
  }
  return first;
}

/** The longest beginning of what is due that keeps every limit; undefined when nothing is intact. */
function takeMessages(
  transaction: Transaction,
  application: Application,
  { request, nowMs }: { readonly request: Request; readonly nowMs: number },
): Taken | undefined {
  let limit = Math.min(application.max_messages, toWhole(request.maxMessages));
  const maxBytes = Math.min(application.max_bytes, toWhole(request.maxBytes));
  const messages: MessageTuple[] = [];
  let format: Format | undefined;
  let bytes = 0;
  for (const message of dueMessages(transaction, application, { limit, nowMs })) {
    if (!isIntact(application, message)) {
      setAside(transaction, application, { message, nowMs });
      continue;
    }
    limit = Math.min(limit, message[4] ?? limit);
    const isWithin =
      messages.length < limit && bytes + message[11] <= maxBytes && message[8] === format;
    if (messages.length > 0 && !isWithin) break;
    messages.push(message);
    format = message[8];
    bytes += message[11];
  }
  return format === undefined ? undefined : { format, messages, bytes };
}

/** Reads pages that grow while the bodies are small. */
function* dueMessages(
  { database }: Transaction,
  { number }: Application,
  limits: { readonly limit: number; readonly nowMs: number },
): Iterable<MessageTuple> {
  let after: readonly [number, number] = [Number.MIN_SAFE_INTEGER, 0];
  let left = Math.max(1, limits.limit);
  let page = FIRST_PAGE;
  while (left > 0) {
    page = Math.min(left, page);
    const values = [number, limits.nowMs, ...after, page] as const;
    const found = database.tuples<MessageTuple>(SELECT_DUE, ...values);
    yield* found;
    const last = found.at(-1);
    if (last === undefined || found.length < page) return;
    after = [last[1], last[0]];
    left -= found.length;
    const bytes = found.reduce((sum, message) => sum + message[13].length, 1);
    page = Math.max(1, Math.floor((PAGE_BYTES * found.length) / bytes));
  }
}

export function isIntact(
  application: Application,
  message: readonly [...MessageTuple, ...unknown[]],
): boolean {
  const [sequence, due, accepted, sends, maxMessages, progress] = message;
  const row = { sequence, due, accepted, sends, max_messages: maxMessages, progress };
  if (progressChecksum(row) !== message[6]) return false;
  const [, , , , , , , messageId, format, dateAt, countAt, sizeBytes, checksum, body] = message;
  const facts = {
    application: application.number,
    messageId: fromText(messageId),
    format,
    dateAt,
    countAt,
    sizeBytes,
  };
  return bodyChecksum(facts, body) === checksum;
}

/** Keeps a damaged row for a human, and counts its message as lost. */
export function setAside(
  transaction: Transaction,
  application: Application,
  {
    message,
    nowMs,
  }: { readonly message: readonly [sequence: number, ...unknown[]]; readonly nowMs: number },
): void {
  const [sequence] = message;
  transaction.database.run(
    `insert into damaged_message
     select sequence, application, ?, sends, message_id, body from message where sequence = ?`,
    nowMs,
    sequence,
  );
  transaction.database.run('delete from message where sequence = ?', sequence);
  // Its size may be what is damaged: the sum of the others cannot be.
  const left = transaction.database.get(
    'select count(*) as messages, coalesce(sum(size_bytes), 0) as bytes from message where application = ?',
    application.number,
  );
  const bytes = Number(left?.['bytes']) - application.pending_bytes;
  transaction.addPending(application, -1, bytes);
  transaction.addLost(application, 1);
}

function lease(
  transaction: Transaction,
  {
    application,
    taken,
    request,
    at,
  }: { application: Application; taken: Taken; request: Request; at: Moment },
): Operations['claim'][1] {
  const number = transaction.nextNumber();
  const sequences = JSON.stringify(taken.messages.map(([sequence]) => sequence));
  transaction.database.run(
    'insert into claim (number, application, size_bytes, sequences) values (?, ?, ?, ?)',
    number,
    application.number,
    taken.bytes,
    sequences,
  );
  application.claim = number;
  application.lease_end = at.after(request.leaseMs);
  application.claimed = taken.messages.length;
  transaction.changed(application);
  return {
    id: `${application.number}-${number}`,
    applicationId: application.id,
    format: taken.format,
    state: [
      application.tier,
      application.max_messages,
      application.max_bytes,
      application.circuit_breaker,
    ],
    nowMs: at.nowMs,
    messages: taken.messages.map((message) => claimedTuple(message, at.nowMs)),
  };
}

function claimedTuple(message: MessageTuple, nowMs: number): ClaimedTuple {
  const [sequence, , accepted, sends, , progress, , messageId, , dateAt, countAt] = message;
  const length = message[13].length;
  return [
    sequence,
    fromText(messageId),
    length,
    dateAt,
    countAt,
    sends,
    nowMs - accepted,
    progress,
  ];
}
