import type { Claim, ClaimedMessage, ClaimRequest, Format, NothingDue } from '../../queue.ts';
import { toWhole } from '../../stored-values.ts';
import type { PostedMessage } from '../protocol.ts';
import { startClaim } from './live-claims.ts';
import {
  isIntact,
  postedOf,
  readMessages,
  refreshFirstDue,
  reschedule,
  setAside,
} from './messages.ts';
import { type Application, type MessageRow, parseJson, stateOf } from './schema.ts';
import type { Context } from './store.ts';

export type ClaimAnswer = Omit<Claim, 'messages'> & {
  readonly messages: readonly (PostedMessage & Omit<ClaimedMessage, 'stored'>)[];
  readonly bodies: Uint8Array;
};

/** Number of messages in the first page, when the size of their bodies is not known yet. */
const FIRST_PAGE = 16;
/** Approximate size of each later page, estimated from the bodies of the page before. */
const PAGE_BYTES = 4_000_000;

/** Claims due messages of the application that has been ready for longest. */
export function claim(context: Context, request: ClaimRequest): ClaimAnswer | NothingDue {
  const { store, nowMs } = context;
  for (let previous: number | undefined; ; ) {
    const ready = nextApplication(context, request.ofHealth);
    if (ready === undefined) return {};
    if (ready.ready_at > nowMs) return { dueInMs: ready.ready_at - nowMs };
    const application = store.byNumber(ready.number) as Application;
    const { messages, damaged } = takeMessages(context, application, request);
    if (messages.length > 0) return claimMessages(context, application, { messages, request });
    if (damaged === 0 && ready.number === previous)
      throw new Error('an application is ready without due messages');
    // All messages that were read were damaged, or `ready_at` was wrong. Another application may be ready first.
    refreshFirstDue(store, application);
    reschedule(context, application);
    previous = ready.number;
  }
}

type Ready = Pick<Application, 'number' | 'turn'> & { readonly ready_at: number };

function nextApplication(
  { store, database }: Context,
  ofHealth: ClaimRequest['ofHealth'],
): Ready | undefined {
  store.flushApplications();
  const heads = ofHealth.map((health) =>
    database.get<Ready>(
      `select number, ready_at, turn from application
       where health = ? and ready_at is not null order by ready_at, turn limit 1`,
      health,
    ),
  );
  return heads
    .filter((row) => row !== undefined)
    .toSorted((one, other) => one.ready_at - other.ready_at || one.turn - other.turn)[0];
}

interface TakenMessages {
  readonly messages: readonly MessageRow[];
  /** Number of damaged rows that were set aside. */
  readonly damaged: number;
}

/** Takes the first due messages that fit all limits. Sets damaged rows aside. Takes none of a claimed application. */
function takeMessages(
  context: Context,
  application: Application,
  request: ClaimRequest,
): TakenMessages {
  const messages: MessageRow[] = [];
  let damaged = 0;
  if (application.claim !== null) return { messages, damaged };
  let limit = Math.min(application.max_messages, toWhole(request.maxMessages));
  const maxBytes = Math.min(application.max_bytes, toWhole(request.maxBytes));
  let bytes = 0;
  for (const message of dueMessages(context, application, limit)) {
    if (!isIntact(message)) {
      setAside(context, message);
      damaged += 1;
      continue;
    }
    limit = Math.min(limit, message.max_messages ?? limit);
    bytes += message.size_bytes;
    const isWithin =
      messages.length < limit && bytes <= maxBytes && message.format === messages[0]?.format;
    if (messages.length > 0 && !isWithin) break;
    messages.push(message);
  }
  return { messages, damaged };
}

/** Yields due messages in pages, so that a claim reads few more than it takes. */
function* dueMessages(
  context: Context,
  { number }: Application,
  limit: number,
): Iterable<MessageRow> {
  const condition =
    'application = ? and due <= ? and (due, sequence) > (?, ?) order by due, sequence limit ?';
  // Below any integer, even a damaged one.
  let after: readonly [number, number] = [-1e19, 0];
  let page = FIRST_PAGE;
  for (let left = Math.max(1, limit); left > 0; ) {
    page = Math.min(left, page);
    const found = readMessages(context, condition, number, context.nowMs, ...after, page);
    yield* found;
    const last = found.at(-1);
    if (last === undefined || found.length < page) return;
    after = [last.due, last.sequence];
    left -= found.length;
    const bytes = found.reduce((sum, { body }) => sum + body.length, 1);
    page = Math.max(1, Math.floor((PAGE_BYTES * found.length) / bytes));
  }
}

function claimMessages(
  context: Context,
  application: Application,
  { messages, request }: { messages: readonly MessageRow[]; request: ClaimRequest },
): ClaimAnswer {
  const { nowMs } = context;
  const number = startClaim(context, application, { messages, leaseMs: request.leaseMs });
  return {
    id: `${application.number}-${number}`,
    applicationId: application.id,
    format: messages[0]?.format as Format,
    state: stateOf(application),
    nowMs,
    messages: messages.map((row) => ({
      ...postedOf(row),
      sequence: row.sequence,
      retryCount: row.sends,
      ageMs: nowMs - row.accepted,
      retryState: parseJson(row.retry_state),
    })),
    bodies: context.join(messages.map(({ body }) => body)),
  };
}
