/** What a message of the stream tells beside its bytes: one header, so that a feed needs no bytes. */
import type { Origin, Past, QueueEntry, StoredMessage } from '../queue.ts';
import type { ReadMessage } from './row.ts';
import type { Kept } from './store.ts';

/** Its place in a call: what came in together is seen together. */
export interface Batch {
  readonly id: string;
  readonly index: number;
  readonly count: number;
}

/** All that a feed tells of a message. */
export interface Message extends ReadMessage {
  readonly messageId: string;
  readonly dateAt: number;
  readonly countAt: number;
  readonly origin: Origin;
  readonly batch?: Batch;
}

interface Told {
  readonly i: string;
  readonly s: number;
  readonly d: number;
  readonly c: number;
  readonly o: string;
  readonly n: number;
  readonly p?: Omit<Past, 'death'>;
  readonly b?: readonly [string, number, number];
}

/** Header lines are read as ASCII by some, and end with a line: JSON can do without either. */
export const toAscii = (json: string): string =>
  json.replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

export function toldOf({ stored, sizeBytes, origin, past }: QueueEntry, batch?: Batch): string {
  const told: Told = {
    i: stored.messageId,
    s: sizeBytes,
    d: stored.dateAt,
    c: stored.countAt,
    o: origin.senderId,
    n: origin.number,
    ...(past === undefined ? {} : { p: withoutDeath(past) }),
    ...(batch === undefined ? {} : { b: [batch.id, batch.index, batch.count] }),
  };
  return toAscii(JSON.stringify(told));
}

/**
 * Of what is published again since its answer was lost: the first may have been delivered and removed
 * by then, where the engine knows its id no more. One too high is allowed, one too low is not (D24).
 */
export function sentOnceMore(entry: QueueEntry): QueueEntry {
  const { sends = 0, ageMs = 0, dueInMs = 0, progress = null, ...more } = entry.past ?? {};
  return { ...entry, past: { ...more, sends: sends + 1, ageMs, dueInMs, progress } };
}

function withoutDeath({ death: _death, ...past }: Past): Omit<Past, 'death'> {
  return past;
}

/** `undefined`: somebody else put it there. */
export function messageIn(kept: Omit<Kept, 'body'>): Message | undefined {
  try {
    const message = messageOf(kept);
    return typeof message.messageId === 'string' && message.sizeBytes >= 0 ? message : undefined;
  } catch {
    return undefined;
  }
}

export function messageOf({ sequence, subject, storedMs, told }: Omit<Kept, 'body'>): Message {
  const { i, s, d, c, o, n, p, b } = JSON.parse(told) as Told;
  const format = formatIn(subject);
  return {
    sequence,
    storedMs,
    format,
    sizeBytes: s,
    messageId: i,
    dateAt: d,
    countAt: c,
    origin: { senderId: o, number: n },
    ...(p === undefined ? {} : { past: p }),
    ...(b === undefined ? {} : { batch: { id: b[0], index: b[1], count: b[2] } }),
  };
}

/** `<prefix>.m.<format>.<token>` */
function formatIn(subject: string): 1 | 2 {
  const parts = subject.split('.');
  return parts.at(-2) === '1' ? 1 : 2;
}

export const storedOf = (
  { messageId, format, dateAt, countAt }: Message,
  bytes: Buffer,
): StoredMessage => ({ messageId, format, bytes, dateAt, countAt });
