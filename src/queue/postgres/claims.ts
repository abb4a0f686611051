/** Claims: leases of messages, and how they end. */
import { SecurityEventError } from '../../errors.ts';
import type {
  Claim,
  ClaimedMessage,
  ClaimRequest,
  Format,
  Json,
  MessageQueue,
  MessageResult,
  NothingDue,
} from '../queue.ts';
import {
  fromEscaped,
  type StateJson,
  stateOf,
  toDuration,
  toWhole,
  updateJson,
} from './conversions.ts';
import type { CounterFlusher } from './counter-flusher.ts';
import type { Database } from './database.ts';
import { isLockTimeout } from './failure.ts';

/** When to claim again if others have locked what is due. In milliseconds. */
const SOON_MS = 5;

/** Names a claim in the schema: the number of its application, and its own. */
interface ClaimName {
  readonly number: number;
  readonly claim: number;
}

/** What the schema's `claim` returns: a claim, or when to ask again. */
type ClaimAnswer = { readonly hasDeltas: boolean } & (
  | ({ readonly application: string; readonly nowMs: number } & StateJson & ClaimName)
  | { readonly claim?: never; readonly dueIn: number | null }
);

export interface ClaimsParts {
  readonly database: Database;
  readonly flusher: CounterFlusher;
  readonly callTimeoutMs: number;
  readonly monotonicMs: () => number;
}

export class Claims {
  readonly #parts: ClaimsParts;
  /** When the lease of each claim ends that is not settled, by its id. Oldest lease first. */
  readonly #leases = new Map<string, number>();

  constructor(parts: ClaimsParts) {
    this.#parts = parts;
  }

  async claim(request: ClaimRequest): Promise<Claim | NothingDue> {
    const { flusher, callTimeoutMs, monotonicMs } = this.#parts;
    const endsAt = monotonicMs() + callTimeoutMs;
    const attempt = () => this.#attempt(request, Math.max(1, endsAt - monotonicMs()));
    // A flush locks applications, and a claim skips locked ones: they would lose their turn.
    await flusher.done();
    let { claimed, hasDeltas } = await attempt();
    if (hasDeltas) {
      flusher.request(false);
      if (!('messages' in claimed)) {
        await flusher.done();
        ({ claimed, hasDeltas } = await attempt());
      }
    }
    if ('messages' in claimed) this.#keep(claimed.id, request.leaseMs);
    return claimed;
  }

  /** `hasDeltas`: counter deltas can change what is due. */
  async #attempt(
    { tiers, maxMessages, maxBytes, leaseMs }: ClaimRequest,
    timeoutMs: number,
  ): Promise<{ readonly claimed: Claim | NothingDue; readonly hasDeltas: boolean }> {
    const limits = { maxMessages: toWhole(maxMessages), maxBytes: toWhole(maxBytes) };
    const request = { tiers, ...limits, leaseMs: toDuration(leaseMs) };
    const answer = (await this.#parts.database
      .call('claim', request, { timeoutMs })
      .catch((error: unknown) => {
        if (isLockTimeout(error)) return { dueIn: 0, hasDeltas: false };
        throw error;
      })) as ClaimAnswer;
    const { hasDeltas } = answer;
    if (answer.claim !== undefined) {
      return { claimed: await this.#messagesOf(answer, timeoutMs), hasDeltas };
    }
    const { dueIn } = answer;
    if (dueIn === null && !hasDeltas) return { claimed: {}, hasDeltas };
    const isSoon = hasDeltas || dueIn === null || dueIn <= 0;
    return { claimed: { dueInMs: isSoon ? SOON_MS : dueIn }, hasDeltas };
  }

  /** Reads the messages of a claim. Releases it if that fails: nothing of it was sent. */
  async #messagesOf(
    answer: Extract<ClaimAnswer, ClaimName>,
    timeoutMs: number,
  ): Promise<Claim | NothingDue> {
    const { number, claim, nowMs } = answer;
    const { database } = this.#parts;
    try {
      const copied = await database.copy('claimed_messages', [number, claim, nowMs], timeoutMs);
      const messages = messagesOf(copied);
      const [first] = messages;
      // Its lease has expired.
      if (first === undefined) return { dueInMs: SOON_MS };
      return {
        id: `${number}-${claim}`,
        applicationId: fromEscaped(answer.application),
        format: first.stored.format,
        state: stateOf(answer),
        nowMs,
        messages,
      };
    } catch (error) {
      await database.call('settle', { number, claim }, { timeoutMs }).catch(() => {});
      throw error;
    }
  }

  readonly settle: MessageQueue['settle'] = async (claim, results, state) => {
    const settled = await this.#end('settle', claim, {
      ...resultArguments(results),
      ...updateJson(state),
    });
    if (typeof settled === 'number' && settled !== results.length) {
      const detail = `${results.length} results for ${settled} messages`;
      throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
    }
    this.#leases.delete(claim.id);
    // Dispatchers of the other tier can be idle while all of this process are busy.
    if (state.tier !== claim.state.tier) this.#parts.flusher.request(true);
    return settled === undefined ? 'lost' : 'settled';
  };

  readonly release: MessageQueue['release'] = async (claim, state) => {
    const released = await this.#end('settle', claim, state && updateJson(state));
    this.#leases.delete(claim.id);
    if (released === undefined) return 'lost';
    this.#parts.flusher.request(true);
    return 'released';
  };

  readonly extend: MessageQueue['extend'] = async (claim, leaseMs) => {
    const isExtended = await this.#end('extend', claim, { leaseMs: toDuration(leaseMs) });
    if (isExtended !== true) return 'lost';
    this.#keep(claim.id, leaseMs);
    return 'extended';
  };

  /** Releases the claims that are left. Rejects if one cannot be released. */
  async releaseAll(): Promise<void> {
    const ids = [...this.#leases.keys()];
    if (ids.length === 0) return;
    const released = await Promise.allSettled(ids.map((id) => this.#end('settle', { id })));
    this.#parts.flusher.request(true);
    const failed = released.find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  }

  /** A `settle` without results releases. Resolves to `undefined` if no claim has this id. */
  async #end(name: 'settle' | 'extend', claim: Pick<Claim, 'id'>, args?: object): Promise<unknown> {
    const claimed = claimName(claim);
    return claimed && (await this.#parts.database.call(name, { ...claimed, ...args }));
  }

  #keep(id: string, leaseMs: number): void {
    const now = this.#parts.monotonicMs();
    for (const [old, endsAt] of this.#leases) {
      if (endsAt > now) break;
      this.#leases.delete(old);
    }
    this.#leases.delete(id);
    this.#leases.set(id, now + leaseMs);
  }
}

/** A binary COPY begins with a signature of 11 bytes, flags and an extension that is empty. */
const HEADER_BYTES = 19;

/** Reads the columns of `claimed_messages`. Each row begins with their number, each column with its size. */
function messagesOf(copied: Buffer): ClaimedMessage[] {
  let at = HEADER_BYTES;
  const next = (): number => {
    const size = copied.readInt32BE(at);
    at += 4 + size;
    return at - size;
  };
  const text = (): string => copied.toString('utf8', next(), at);
  const messages: ClaimedMessage[] = [];
  // The last row has -1 columns.
  while (copied.readInt16BE(at) > 0) {
    at += 2;
    const sequence = copied.readDoubleBE(next());
    const sends = copied.readInt32BE(next());
    const ageMs = copied.readDoubleBE(next());
    const format = copied.readInt32BE(next()) as Format;
    const dateAt = copied.readInt32BE(next());
    const countAt = copied.readInt32BE(next());
    const messageId = fromEscaped(text());
    const progress = JSON.parse(text()) as Json;
    const bytes = copied.subarray(next(), at);
    const stored = { messageId, format, bytes, dateAt, countAt };
    messages.push({ sequence, stored, sends, ageMs, progress });
  }
  return messages;
}

const CLAIM_ID = /^(\d{1,15})-(\d{1,16})$/;

/** Returns `undefined` for an id that no claim of such a queue has. */
export function claimName({ id }: Pick<Claim, 'id'>): ClaimName | undefined {
  const [, number, claim] = CLAIM_ID.exec(id) ?? [];
  return number === undefined ? undefined : { number: Number(number), claim: Number(claim) };
}

const LETTERS: Readonly<Record<MessageResult['kind'], string>> = {
  delivered: 'v',
  dead: 'd',
  retry: 'r',
};

/** The arrays are absent if no result needs them. */
function resultArguments(results: readonly MessageResult[]): object {
  const kinds = results.map(({ kind }) => LETTERS[kind]).join('');
  const retries = results.map((result) => (result.kind === 'retry' ? result : undefined));
  const dead = results.map((result) => (result.kind === 'dead' ? result : undefined));
  return {
    kinds,
    ...(kinds.includes('r') && {
      afters: retries.map((one) => one && toDuration(Math.ceil(one.afterMs))),
      limits: retries.map((one) => one?.maxMessages && toWhole(one.maxMessages)),
      progresses: retries.map((one) => one && JSON.stringify(one.progress)),
    }),
    ...(kinds.includes('d') && {
      reasons: dead.map((one) => one?.reason),
      lastAttempts: dead.map((one) => one && JSON.stringify(one.lastAttempt)),
    }),
  };
}
