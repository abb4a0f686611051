import { SecurityEventError } from '../../errors.ts';
import type {
  Claim,
  ClaimedMessage,
  ClaimRequest,
  MessageQueue,
  MessageResult,
  NothingDue,
} from '../queue.ts';
import { fromText, toWhole } from '../stored-values.ts';
import { Batcher } from './batcher.ts';
import { type StateJson, stateOf, toDuration, updateJson } from './conversions.ts';
import { messagesOf } from './copy-out.ts';
import type { CounterFlusher } from './counter-flusher.ts';
import type { Database } from './database.ts';
import { isLockTimeout } from './failure.ts';

/** When to claim again if due messages are locked, or counter deltas remain. In milliseconds. */
const CLAIM_AGAIN_MS = 5;

/** Identifies a claim in the schema: the number of its application, and its own number. */
interface ClaimName {
  readonly number: number;
  readonly claim: number;
}

/** A claim as the schema's `claim` returns it. */
interface ClaimRow extends ClaimName, StateJson {
  readonly application: string;
  readonly nowMs: number;
}

interface ClaimAnswer {
  readonly claims: readonly ClaimRow[];
  /** Time until a message is due, if there are fewer claims than requested. */
  readonly dueIn: number | null;
  /** Whether there are counter deltas. These may make messages due. */
  readonly hasDeltas: boolean;
}

/** One claim in a call of the schema's `settle`. Without results it is released. */
type SettleCall = ClaimName & { readonly messages: number; readonly args: object | undefined };

/** How a claim ended; `null` if it was lost. */
type SettleAnswer = {
  /** Number of its messages. With another number of results, nothing changed. */
  readonly size: number;
  /** Whether more messages of the application wait. */
  readonly isWaiting: boolean;
} | null;

/** Maximum number of messages in the calls that share a transaction. A call with fewer counts as the minimum. */
const MAX_MESSAGES = 1000;
const MIN_CALL_MESSAGES = 50;

export interface ClaimsParts {
  readonly database: Database;
  readonly flusher: CounterFlusher;
  readonly maxConnections: number;
  readonly callTimeoutMs: number;
  readonly monotonicMs: () => number;
}

export class Claims {
  readonly #parts: ClaimsParts;
  readonly #claiming: Batcher<ClaimRequest, Claim | NothingDue>;
  readonly #settling: Batcher<SettleCall, SettleAnswer>;
  /** Ids of claims that were not sent: `close` releases them. */
  readonly #unsent = new Set<string>();
  /** Number of messages in a recent claim. Large claims do not share a transaction. */
  #claimSize = MAX_MESSAGES;

  constructor(parts: ClaimsParts) {
    this.#parts = parts;
    const { maxConnections: maxBatches, callTimeoutMs, monotonicMs } = parts;
    const common = { maxSize: MAX_MESSAGES, maxBatches, callTimeoutMs, monotonicMs };
    this.#claiming = new Batcher({
      ...common,
      run: (requests, timeoutMs) => this.#claimAll(requests, timeoutMs),
      sizeOf: () => Math.max(MIN_CALL_MESSAGES, this.#claimSize),
      // By value: the scheduler makes an object for each claim.
      keyOf: ({ ofHealth, maxMessages, maxBytes, leaseMs }) =>
        [...ofHealth, maxMessages, maxBytes, leaseMs].join(),
      isGathering: true,
    });
    this.#settling = new Batcher({
      ...common,
      run: (calls, timeoutMs) => settleAll(parts.database, calls, timeoutMs),
      sizeOf: ({ messages }) => Math.max(MIN_CALL_MESSAGES, messages),
    });
  }

  async claim(request: ClaimRequest): Promise<Claim | NothingDue> {
    const claimed = await this.#claiming.run(request);
    if ('id' in claimed) this.#unsent.add(claimed.id);
    return claimed;
  }

  /** Makes as many claims as there are requests, which are all equal. */
  async #claimAll(
    requests: readonly ClaimRequest[],
    timeoutMs: number,
  ): Promise<(Claim | NothingDue)[]> {
    const { flusher, monotonicMs } = this.#parts;
    const endsAt = monotonicMs() + timeoutMs;
    const remainingMs = (): number => Math.max(1, endsAt - monotonicMs());
    const rows: ClaimRow[] = [];
    try {
      for (let isRepeated = false; ; isRepeated = true) {
        // A flush locks applications, and a claim skips locked ones: they would lose their turn.
        await flusher.done();
        const wanted = requests.slice(rows.length);
        const { claims, dueIn, hasDeltas } = await this.#makeClaims(wanted, remainingMs());
        rows.push(...claims);
        if (hasDeltas) flusher.request(false);
        if (hasDeltas && !isRepeated && rows.length < requests.length) continue;
        const claimed = await this.#readMessages(rows, remainingMs());
        const nothing = nothingDue(dueIn, hasDeltas);
        return requests.map((_, index) => claimed[index] ?? nothing);
      }
    } catch (error) {
      // None of their messages was sent.
      const unsent = rows.map((row) => ({ ...row, messages: 0, args: undefined }));
      if (unsent.length > 0) {
        await settleAll(this.#parts.database, unsent, remainingMs()).catch(() => {});
      }
      throw error;
    }
  }

  async #makeClaims(requests: readonly ClaimRequest[], timeoutMs: number): Promise<ClaimAnswer> {
    const [{ ofHealth, maxMessages, maxBytes, leaseMs }] = requests as readonly [ClaimRequest];
    const limits = { maxMessages: toWhole(maxMessages), maxBytes: toWhole(maxBytes) };
    const args = { ofHealth, ...limits, leaseMs: toDuration(leaseMs), count: requests.length };
    const answer = this.#parts.database.call('claim', args, { timeoutMs });
    return (await answer.catch((error: unknown) => {
      if (isLockTimeout(error)) return { claims: [], dueIn: 0, hasDeltas: false };
      throw error;
    })) as ClaimAnswer;
  }

  /** Reads the messages of the claims, in another transaction. */
  async #readMessages(
    rows: readonly ClaimRow[],
    timeoutMs: number,
  ): Promise<(Claim | NothingDue)[]> {
    if (rows.length === 0) return [];
    const numbers = `'{${rows.map(({ number }) => number).join()}}'`;
    const claims = `'{${rows.map(({ claim }) => claim).join()}}'`;
    const args = `${numbers}, ${claims}`;
    const copied = await this.#parts.database.copy('claimed_messages', args, timeoutMs);
    const messages = messagesOf(copied, rows);
    const count = messages.reduce((sum, { length }) => sum + length, 0);
    this.#claimSize = Math.ceil(count / rows.length);
    return rows.map((row, index) => claimOf(row, messages[index] ?? []));
  }

  readonly settle: MessageQueue['settle'] = async (claim, results, state) => {
    // The messages were sent, even if this call fails (law 8).
    this.#unsent.delete(claim.id);
    const args = { ...resultArguments(results), ...updateJson(state) };
    const settled = await this.#endClaim(claim, results.length, args);
    if (settled !== null && settled.size !== results.length) {
      const detail = `${results.length} results for ${settled.size} messages`;
      throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
    }
    if (settled === null) return 'lost';
    // The health of the application has changed: another process may have a free slot for the new one.
    if (settled.isWaiting && state.health !== claim.state.health) this.#parts.flusher.request(true);
    return 'settled';
  };

  readonly release: MessageQueue['release'] = async (claim, state) => {
    const released = await this.#endClaim(claim, 0, state && updateJson(state));
    this.#unsent.delete(claim.id);
    if (released === null) return 'lost';
    this.#parts.flusher.request(true);
    return 'released';
  };

  readonly extend: MessageQueue['extend'] = async (claim, leaseMs) => {
    const args = { ...claimName(claim), leaseMs: toDuration(leaseMs) };
    return (await this.#parts.database.call('extend', args)) === true ? 'extended' : 'lost';
  };

  /** Releases the claims that were not sent. Rejects if one cannot be released. */
  async releaseAll(): Promise<void> {
    const ids = [...this.#unsent];
    if (ids.length === 0) return;
    const released = await Promise.allSettled(ids.map((id) => this.#endClaim({ id }, 0)));
    this.#parts.flusher.request(true);
    const failed = released.find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  }

  async #endClaim(
    claim: Pick<Claim, 'id'>,
    messages: number,
    args?: object,
  ): Promise<SettleAnswer> {
    const name = claimName(claim);
    return name === undefined ? null : await this.#settling.run({ ...name, messages, args });
  }
}

async function settleAll(
  database: Database,
  calls: readonly SettleCall[],
  timeoutMs: number,
): Promise<SettleAnswer[]> {
  const claims = calls.map(({ number, claim, args }) => ({ number, claim, ...args }));
  return (await database.call('settle', { claims }, { timeoutMs })) as SettleAnswer[];
}

function nothingDue(dueIn: number | null, hasDeltas: boolean): NothingDue {
  if (dueIn === null && !hasDeltas) return {};
  const isSoon = hasDeltas || dueIn === null || dueIn <= 0;
  return { dueInMs: isSoon ? CLAIM_AGAIN_MS : dueIn };
}

function claimOf(row: ClaimRow, messages: readonly ClaimedMessage[]): Claim | NothingDue {
  const [first] = messages;
  // Its lease has already expired.
  if (first === undefined) return { dueInMs: CLAIM_AGAIN_MS };
  return {
    id: `${row.number}-${row.claim}`,
    applicationId: fromText(row.application),
    format: first.stored.format,
    state: stateOf(row),
    nowMs: row.nowMs,
    messages,
  };
}

const CLAIM_ID = /^(\d{1,15})-(\d{1,16})$/;

/** Returns `undefined` for an id that no claim of such a queue has. */
export function claimName({ id }: Pick<Claim, 'id'>): ClaimName | undefined {
  const [, number, claim] = CLAIM_ID.exec(id) ?? [];
  return number === undefined ? undefined : { number: Number(number), claim: Number(claim) };
}

const RESULT_CODES: Readonly<Record<MessageResult['kind'], string>> = {
  delivered: 'v',
  dead: 'd',
  retry: 'r',
};

/** Returns the results as arrays, which are absent if no result needs them. */
function resultArguments(results: readonly MessageResult[]): object {
  const kinds = results.map(({ kind }) => RESULT_CODES[kind]).join('');
  const retries = results.map((result) => (result.kind === 'retry' ? result : undefined));
  const dead = results.map((result) => (result.kind === 'dead' ? result : undefined));
  return {
    kinds,
    ...(kinds.includes('r') && {
      afters: retries.map((one) => one && toDuration(Math.ceil(one.afterMs))),
      limits: retries.map((one) => one?.maxMessages && toWhole(one.maxMessages)),
      retryStates: retries.map((one) => one && JSON.stringify(one.retryState)),
    }),
    ...(kinds.includes('d') && {
      reasons: dead.map((one) => one?.reason),
      lastAttempts: dead.map((one) => one && JSON.stringify(one.lastAttempt)),
    }),
  };
}
