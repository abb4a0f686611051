/** What a dead letter is stored as: its bytes, and the rest as one header. */
import type { DeadLetter, DeadReason, Format, Json } from '../queue.ts';
import { toAscii } from './envelope.ts';
import { applicationIdOf } from './names.ts';
import type { Kept } from './store.ts';

/** What is told of a letter beside its bytes. */
interface Told {
  readonly i: string;
  readonly f: Format;
  readonly d: number;
  readonly c: number;
  readonly s: number;
  readonly o: string;
  readonly n: number;
  readonly k: number;
  readonly r: DeadReason;
  readonly e: Json;
  readonly a: number;
  readonly t: number;
}

export interface Letter {
  readonly token: string;
  /** In the stream of dead letters. */
  readonly sequence: number;
  readonly shown: DeadLetter;
}

/** What a letter is found by. */
export interface LetterPlace {
  readonly token: string;
  readonly sequence: number;
  readonly sizeBytes: number;
}

export interface Draft extends Omit<DeadLetter, 'id' | 'applicationId'> {
  readonly token: string;
  /** Ends its subject, and names it for good. */
  readonly name: string;
}

/** `<prefix>.d.<token>.<name>` */
export const tokenIn = (subject: string): string => subject.split('.').at(-2) ?? '';

/** How it ended is left out where a message may not be that long. */
export function toldWithin(draft: Draft, bytes: number): string {
  const told = toldOf(draft);
  return told.length <= bytes ? told : toldOf({ ...draft, end: null });
}

function toldOf({ stored, origin, sizeBytes, ...death }: Draft): string {
  const told: Told = {
    i: stored.messageId,
    f: stored.format,
    d: stored.dateAt,
    c: stored.countAt,
    s: sizeBytes,
    o: origin.senderId,
    n: origin.number,
    k: death.sends,
    r: death.reason,
    e: death.end,
    a: death.acceptedAt,
    t: death.diedAt,
  };
  return toAscii(JSON.stringify(told));
}

/** Where it lies, of one that came without its bytes. */
export function placeOf({ sequence, subject, told }: Kept): LetterPlace {
  const { s } = JSON.parse(told) as Told;
  return { token: tokenIn(subject), sequence, sizeBytes: s };
}

export const placeOfLetter = ({ token, sequence, shown }: Letter): LetterPlace => ({
  token,
  sequence,
  sizeBytes: shown.sizeBytes,
});

export function letterOf({ sequence, subject, told, body }: Kept): Letter {
  const { i, f, d, c, s, o, n, k, r, e, a, t } = JSON.parse(told) as Told;
  const token = tokenIn(subject);
  const shown = {
    id: String(sequence),
    applicationId: applicationIdOf(token),
    stored: { messageId: i, format: f, bytes: body, dateAt: d, countAt: c },
    origin: { senderId: o, number: n },
    sizeBytes: s,
    sends: k,
    reason: r,
    end: e,
    acceptedAt: a,
    diedAt: t,
  };
  return { token, sequence, shown };
}
