/** Which messages of an application a claim takes (law 2), read from the store. */
import type { LevelApplication, TakenMessage } from './application.ts';
import { againKey, broughtKey, freshKey, freshRange, lastOf, rangeOf, timeOf } from './keys.ts';
import type { Store } from './store.ts';
import { type Again, type Content, decodeAgain, decodeContent } from './values.ts';

export interface ClaimLimits {
  readonly maxMessages: number;
  readonly maxBytes: number;
}

export interface Taken {
  readonly messages: readonly TakenMessage[];
  /** Behind the last one that had not been claimed before. */
  readonly head: number;
  /** Of what is left, as far as it was read. */
  readonly freshDueMs: number | undefined;
  readonly againDueMs: number | undefined;
}

/** A message that waits, its content read or not. */
interface Candidate {
  readonly sequence: number;
  readonly dueMs: number;
  readonly again: Again | undefined;
  readonly content: Content | undefined;
}

/** In the order (due, sequence), what is due by `untilMs`, within the limits, of one format. */
export async function readDue(
  store: Store,
  application: LevelApplication,
  { limits, untilMs }: { readonly limits: ClaimLimits; readonly untilMs: number },
): Promise<Taken> {
  const counted = countOf(application);
  // One more than may be taken: when that one is due is when the next claim can be made.
  const count = limits.maxMessages + 1;
  const fresh = new Ahead(freshCandidates(store, application, count));
  const again = new Ahead(againCandidates(store, application, count));
  try {
    const chosen: Candidate[] = [];
    const size = new Size(limits);
    for (;;) {
      if (fresh.isUsedUp) await fresh.fill();
      if (again.isUsedUp) await again.fill();
      const one = fresh.first();
      const next = firstOf(one, again.first());
      if (next === undefined || next.dueMs > untilMs || !size.add(next)) break;
      chosen.push(next);
      (next === one ? fresh : again).shift();
    }
    const untouchedOnes = chosen.filter((candidate) => candidate.again === undefined);
    if (fresh.first() === undefined) counted.expectFresh(store, untouchedOnes.length);
    if (again.first() === undefined) {
      counted.expectAgain(store, chosen.length - untouchedOnes.length);
    }
    const lastFresh = untouchedOnes.at(-1);
    return {
      messages: await withContent(store, application.number, chosen),
      head: lastFresh === undefined ? application.head : lastFresh.sequence + 1,
      freshDueMs: fresh.first()?.dueMs,
      againDueMs: again.first()?.dueMs,
    };
  } finally {
    await fresh.close();
    await again.close();
  }
}

/**
 * How much waits of an application, to be compared with what is found where all was read: what was
 * lost without a trace would wait for ever. While something comes in, the store need not have it yet.
 */
export function countOf({ tail, committedTail, freshCount, againCount }: LevelApplication) {
  const compare = (store: Store, found: number, counted: number): void => {
    if (tail === committedTail && found < counted) store.folder.suspect('counts');
  };
  return {
    expectFresh: (store: Store, found: number): void => compare(store, found, freshCount),
    expectAgain: (store: Store, found: number): void => compare(store, found, againCount),
  };
}

/** What was read and is not used yet. */
class Ahead<T> {
  readonly #source: AsyncGenerator<readonly T[], void, undefined>;
  #chunk: readonly T[] = [];
  #at = 0;
  #isOver = false;

  constructor(source: AsyncGenerator<readonly T[], void, undefined>) {
    this.#source = source;
  }

  get isUsedUp(): boolean {
    return !this.#isOver && this.#at === this.#chunk.length;
  }

  async fill(): Promise<void> {
    const { done, value } = await this.#source.next();
    this.#isOver = done === true;
    this.#chunk = value ?? [];
    this.#at = 0;
  }

  first(): T | undefined {
    return this.#chunk[this.#at];
  }

  shift(): void {
    this.#at += 1;
  }

  async close(): Promise<void> {
    await this.#source.return();
  }
}

/** Adds up a claim. */
class Size {
  readonly #limits: ClaimLimits;
  #maxMessages: number;
  #first: { readonly format: number } | undefined;
  #count = 0;
  #bytes = 0;

  constructor(limits: ClaimLimits) {
    this.#limits = limits;
    this.#maxMessages = limits.maxMessages;
  }

  /** Whether the message still belongs to it. The first one always does. */
  add(candidate: Candidate): boolean {
    const { maxMessages, sizeBytes, format } = factsOf(candidate);
    this.#maxMessages = Math.min(this.#maxMessages, maxMessages ?? this.#maxMessages);
    this.#bytes += sizeBytes;
    const isWithin = this.#count < this.#maxMessages && this.#bytes <= this.#limits.maxBytes;
    if (this.#first !== undefined && !(isWithin && this.#first.format === format)) return false;
    this.#first ??= { format };
    this.#count += 1;
    return true;
  }
}

function factsOf({ again, content }: Candidate) {
  if (again !== undefined) return again;
  const { sizeBytes, stored } = content as Content;
  return { sizeBytes, format: stored.format, maxMessages: undefined };
}

function firstOf(one: Candidate | undefined, other: Candidate | undefined): Candidate | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const isBefore =
    one.dueMs === other.dueMs ? one.sequence < other.sequence : one.dueMs < other.dueMs;
  return isBefore ? one : other;
}

async function* freshCandidates(
  store: Store,
  { number, head, committedTail }: LevelApplication,
  limit: number,
): AsyncGenerator<Candidate[], void, undefined> {
  for await (const chunk of store.chunks(freshRange(number, head, committedTail), limit)) {
    yield chunk.map(([key, value]) => {
      const content = decodeContent(value);
      return { sequence: lastOf(key), dueMs: content.acceptedMs, again: undefined, content };
    });
  }
}

async function* againCandidates(
  store: Store,
  { number, againDueMs }: LevelApplication,
  limit: number,
): AsyncGenerator<Candidate[], void, undefined> {
  if (againDueMs === undefined) return;
  // What was settled before left its gravestones in front of the first.
  const range = { ...rangeOf('again', number), gte: againKey(number, againDueMs, 0) };
  for await (const chunk of store.chunks(range, limit)) {
    yield chunk.map(([key, value]) => {
      const again = decodeAgain(value);
      return { sequence: lastOf(key), dueMs: timeOf(key), again, content: undefined };
    });
  }
}

/** Where the content of a message lies that waits again. */
export const contentKey = (application: number, sequence: number, isBrought: boolean): Buffer =>
  isBrought ? broughtKey(application, sequence) : freshKey(application, sequence);

/** What is gone from the store, though its row is there, is left out. */
async function withContent(
  store: Store,
  application: number,
  chosen: readonly Candidate[],
): Promise<TakenMessage[]> {
  const unread = chosen.filter(({ content }) => content === undefined);
  const values = await store.getMany(
    unread.map(({ sequence, again }) =>
      contentKey(application, sequence, again?.isBrought === true),
    ),
  );
  if (values.includes(undefined)) store.folder.suspect('counts');
  const found = new Map(unread.map((candidate, index) => [candidate, values[index]]));
  return chosen.flatMap((candidate) => {
    const value = found.get(candidate);
    const content = candidate.content ?? (value && decodeContent(value));
    return content === undefined ? [] : [takenOf(candidate, content)];
  });
}

function takenOf({ sequence, dueMs, again }: Candidate, content: Content): TakenMessage {
  if (again === undefined) return untouched(content, sequence);
  const { sends, maxMessages, progress, isBrought } = again;
  return { content, sequence, dueMs, sends, maxMessages, progress, isBrought, isAgain: true };
}

/** One that has not been claimed since it came in: it was due when it was accepted. */
export const untouched = (content: Content, sequence: number): TakenMessage => ({
  content,
  sequence,
  dueMs: content.acceptedMs,
  sends: content.sends,
  maxMessages: undefined,
  progress: null,
  isAgain: false,
  isBrought: false,
});
