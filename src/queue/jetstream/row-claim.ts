/** What a claim takes (laws 2 and 4), and what it leaves in the row. */
import type { ClaimRequest } from '../queue.ts';
import type { Fresh, Group, ReadMessage, Row, Taken } from './row.ts';
import { groupOf, knownOf } from './row.ts';
import { claimableAtMs } from './row-due.ts';
import { alone, byDue, inRuns, together, type Waiting, waitingIn, without } from './row-groups.ts';

/**
 * Beyond this share of what a value may have a row is crowded: only what it knows already is claimed,
 * so that it grows no further.
 */
const CROWDED_SHARE = 0.25;

/** What it takes at most to know one message more, with what the engine tells of its progress. */
const PLACE_BYTES = 256;

export interface Asked {
  readonly request: ClaimRequest;
  readonly nowMs: number;
  readonly lingerMs: number;
  /** Of the row as it was read. */
  readonly rowBytes: number;
  /** What the server allows a value to have. */
  readonly maxPayload: number;
}

const crowdedBytes = ({ maxPayload }: Asked): number => maxPayload * CROWDED_SHARE;

/** It knows something that can be claimed in its place. */
const isCrowded = (row: Row, asked: Asked): boolean =>
  asked.rowBytes > crowdedBytes(asked) && row.touched.length > 0;

export interface Found<M extends ReadMessage> {
  /** Whatever was read of what the row knows, by sequence. */
  readonly read: ReadonlyMap<number, M>;
  /** Absent where `needsFresh` said no. */
  readonly fresh?: Fresh<M>;
}

export interface Claiming<M extends ReadMessage> {
  /** The same object where nothing is to be written. */
  readonly row: Row;
  /** Empty: nothing can be claimed. */
  readonly taken: readonly Taken<M>[];
}

/** What was brought joins what the row knows: it may be older than it looks, or not be due yet. */
export function absorb(row: Row, messages: readonly ReadMessage[]): Row {
  const known = knownOf(row);
  const brought = messages.filter(
    ({ sequence, past }) =>
      past !== undefined && (past.dueInMs > 0 || past.ageMs > 0) && isFresh(row, known, sequence),
  );
  if (brought.length === 0) return row;
  return { ...row, touched: together([...row.touched, ...brought.map(groupOf)]) };
}

const isFresh = ({ cursor }: Row, known: ReadonlySet<number>, sequence: number): boolean =>
  sequence > cursor && !known.has(sequence);

/** The cursor moves over what is fresh no more. */
export function advanced(row: Row, page: readonly ReadMessage[]): Row {
  const known = knownOf(row);
  let { cursor, cursorMs } = row;
  for (const { sequence, storedMs } of page) {
    if (sequence <= cursor) continue;
    if (!known.has(sequence)) break;
    cursor = sequence;
    cursorMs = Math.floor(storedMs);
  }
  if (cursor === row.cursor) return row;
  return { ...row, cursor, cursorMs, gone: row.gone.filter((sequence) => sequence > cursor) };
}

/** Those messages that the row knows and that a claim would consider, the first one first: to be read. */
export function candidates(row: Row, asked: Asked): number[] {
  return inOrder(row, asked.request, asked.nowMs)
    .slice(0, maxMessagesOf(row, asked))
    .map(({ place }) => place.sequence);
}

/** Whether a claim may take anything but what `candidates` says. */
export function needsFresh(row: Row, asked: Asked): boolean {
  const { request, nowMs } = asked;
  if (isCrowded(row, asked)) return false;
  const max = maxMessagesOf(row, asked);
  const last = inOrder(row, request, nowMs)[max - 1];
  // What is fresh was stored when the cursor's was, or later, and lies behind it.
  const { cursor, cursorMs } = row;
  if (last === undefined || asked.lingerMs > 0) return true;
  return last.dueMs > cursorMs || (last.dueMs === cursorMs && last.place.sequence > cursor);
}

function inOrder({ touched }: Row, request: ClaimRequest, nowMs: number): Waiting[] {
  const untilMs = request.early === true ? Number.POSITIVE_INFINITY : nowMs;
  return [...waitingIn(touched)].filter(({ dueMs }) => dueMs <= untilMs).toSorted(byDue);
}

function maxMessagesOf({ application }: Row, asked: Asked): number {
  const { maxMessages, early } = asked.request;
  const max = early === true ? maxMessages : Math.min(maxMessages, application.maxMessages);
  return Math.max(1, Math.min(max, roomIn(asked)));
}

/** So many messages more the row may come to know at once. */
const roomIn = (asked: Asked): number =>
  Math.max(1, Math.floor((2 * crowdedBytes(asked) - asked.rowBytes) / PLACE_BYTES));

/** Up to where what was brought fits into the row. */
function within<M extends ReadMessage>(page: readonly M[], asked: Asked): readonly M[] {
  let left = roomIn(asked);
  const end = page.findIndex(({ past }) => {
    if (past !== undefined) left -= 1;
    return left < 0;
  });
  return end === -1 ? page : page.slice(0, end);
}

export function take<M extends ReadMessage>(
  before: Row,
  asked: Asked & { readonly id: string },
  { read, fresh }: Found<M>,
): Claiming<M> {
  const page = within(fresh?.messages ?? [], asked);
  const row = advanced(absorb(before, page), page);
  if (!isClaimable(row, asked, fresh)) return { row, taken: [] };
  const messages = new Map(read);
  for (const message of page) messages.set(message.sequence, message);
  const chosen = choose(row, asked, { messages, page });
  if (chosen.length === 0) return { row, taken: [] };
  const { id, nowMs, request } = asked;
  const sent = chosen.map(({ group, place }) => ({
    ...alone({ group, place }),
    sends: group.sends + 1,
  }));
  const claim = { id, untilMs: Math.ceil(nowMs + request.leaseMs), groups: inRuns(sent) };
  const taken = new Set(chosen.map(({ place }) => place.sequence));
  const claimed = { ...row, claim, touched: without(row.touched, taken) };
  return { row: advanced(claimed, page), taken: chosen.map((one) => takenOf(one, nowMs)) };
}

function isClaimable(row: Row, asked: Asked, fresh: Fresh<ReadMessage> | undefined): boolean {
  const { request, nowMs, lingerMs } = asked;
  if (row.claim !== undefined) return false;
  if (request.early === true) return true;
  const { tier } = row.application;
  if (!request.tiers.some((one) => one === tier)) return false;
  const atMs = claimableAtMs(row, freshIn(row, fresh, nowMs), lingerMs);
  return atMs !== undefined && atMs <= nowMs;
}

/** Without what the row knows. Servers' clocks may differ: what is there was stored. */
function freshIn(row: Row, fresh: Fresh<ReadMessage> | undefined, nowMs: number) {
  const known = knownOf(row);
  const messages = fresh?.messages.filter(({ sequence }) => isFresh(row, known, sequence)) ?? [];
  const [first] = messages;
  if (fresh === undefined || first === undefined) return undefined;
  const waiting = fresh.waiting - (fresh.messages.length - messages.length);
  return { firstMs: Math.min(Math.floor(first.storedMs), nowMs), waiting };
}

interface Chosen<M extends ReadMessage> extends Waiting {
  readonly message: M;
}

interface Available<M extends ReadMessage> {
  readonly messages: ReadonlyMap<number, M>;
  readonly page: readonly M[];
}

/** In the order of law 4, up to the first one that was not read or does not fit. */
function choose<M extends ReadMessage>(
  row: Row,
  asked: Asked,
  { messages, page }: Available<M>,
): Chosen<M>[] {
  const { request, nowMs } = asked;
  const waiting = inOrder(row, request, nowMs);
  if (!isCrowded(row, asked)) waiting.push(...freshWaiting(row, page, nowMs));
  let maxMessages = maxMessagesOf(row, asked);
  const maxBytes =
    request.early === true
      ? request.maxBytes
      : Math.min(request.maxBytes, row.application.maxBytes);
  const chosen: Chosen<M>[] = [];
  let bytes = 0;
  for (const next of waiting.toSorted(byDue)) {
    const message = messages.get(next.place.sequence);
    if (message === undefined) break;
    maxMessages = Math.min(maxMessages, next.group.maxMessages ?? maxMessages);
    bytes += message.sizeBytes;
    const isWithin = chosen.length < maxMessages && bytes <= maxBytes;
    const isAlike = (chosen[0]?.message.format ?? message.format) === message.format;
    if (chosen.length > 0 && !(isWithin && isAlike)) break;
    chosen.push({ ...next, message });
  }
  return chosen;
}

/** Due in the order in which it lies there, and now: clocks of servers may differ. */
function freshWaiting(row: Row, page: readonly ReadMessage[], nowMs: number): Waiting[] {
  const known = knownOf(row);
  let dueMs = row.cursorMs;
  const waiting: Waiting[] = [];
  for (const message of page) {
    if (!isFresh(row, known, message.sequence)) continue;
    dueMs = Math.min(Math.max(dueMs, Math.floor(message.storedMs)), Math.max(dueMs, nowMs));
    const group: Group = groupOf(message);
    waiting.push({ group, place: group.places[0] as Waiting['place'], dueMs });
  }
  return waiting;
}

function takenOf<M extends ReadMessage>(
  { message, group, place, dueMs }: Chosen<M>,
  nowMs: number,
): Taken<M> {
  const { sends, progress, maxMessages } = group;
  const limit = maxMessages === undefined ? {} : { maxMessages };
  const moving = {
    sizeBytes: message.sizeBytes,
    dueInMs: Math.max(0, dueMs - nowMs),
    ...limit,
  };
  return { message, sends, progress, ageMs: Math.max(0, nowMs - place.acceptedMs), moving };
}
