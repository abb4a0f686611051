/** From a claim to its end (laws 2 and 3). */
import { SecurityEventError } from '../../errors.ts';
import type { Moment } from '../in-process/moment.ts';
import type { LevelApplication, LiveClaim, TakenMessage } from './application.ts';
import { Change } from './change.ts';
import type {
  Claim,
  ClaimedMessage,
  ClaimRequest,
  Moved,
  Nothing,
  RowUpdate,
  Verdict,
} from './old-contract.ts';
import { type ClaimLimits, readDue, type Taken } from './reading.ts';
import type { LevelState } from './state.ts';

/** An application that cannot be read is left alone so long, for the others' sake. */
const UNREADABLE_MS = 5000;

interface ClaimEnd {
  readonly name: 'settle' | 'release';
  /** For each of its messages. */
  readonly each?: (held: LiveClaim, change: Change, index: number) => void;
  readonly apply: (held: LiveClaim, change: Change) => void;
}

type Applications = ReturnType<LevelState['content']['all']>;

type Named = Pick<Claim, 'id' | 'applicationId'>;

export class Claims {
  readonly #state: LevelState;
  /** Of early claims: those whose turn it is yet. */
  #round: { readonly content: object; readonly rest: Applications } | undefined;

  constructor(state: LevelState) {
    this.#state = state;
  }

  async claim(request: ClaimRequest): Promise<Claim | Nothing> {
    const seen = new Set<LevelApplication>();
    for (;;) {
      // Anew each time: what has become due since would be looked at for ever and never be taken.
      const { content } = this.#state;
      const at = this.#state.now();
      const application = request.early ? this.#unclaimed(seen) : content.turns.next(request.tiers);
      if (application === undefined) {
        const nextAtMs = request.early ? undefined : content.turns.nextAtMs(request.tiers);
        return nextAtMs === undefined ? {} : { dueInMs: Math.max(0, nextAtMs - at.nowMs) };
      }
      seen.add(application);
      const claim = this.#hold(application, at.after(request.leaseMs));
      content.place(application, at);
      const given = await application.exclusively(() => this.#take(claim, request, at));
      // It was expired or closed while it was being read: the next one.
      if (given !== undefined) return given;
    }
  }

  /** Goes round all applications, each call on from where the one before it ended. */
  #unclaimed(seen: ReadonlySet<LevelApplication>): LevelApplication | undefined {
    const { content } = this.#state;
    if (this.#round?.content !== content) this.#round = { content, rest: content.all() };
    for (const isWhole of [false, true]) {
      if (isWhole) this.#round = { content, rest: content.all() };
      const { rest } = this.#round;
      for (let next = rest.next(); next.done !== true; next = rest.next()) {
        const { claim, waiting } = next.value;
        if (claim === undefined && waiting > 0 && !seen.has(next.value)) return next.value;
      }
    }
    return undefined;
  }

  #hold(application: LevelApplication, endsAtMs: number): LiveClaim {
    const claim: LiveClaim = {
      id: this.#state.content.nextClaim(),
      application,
      messages: [],
      fresh: { from: 0, to: 0 },
      endsAtMs,
      isHandedOut: false,
      isEnding: false,
      isCounted: false,
    };
    application.claim = claim;
    return claim;
  }

  async #take(claim: LiveClaim, request: ClaimRequest, at: Moment): Promise<Claim | undefined> {
    const { application } = claim;
    const { row } = application;
    const isMeant = request.early === true || !application.isClosed;
    const taken = isMeant ? await this.#read(application, request, at) : undefined;
    const change = new Change(this.#state.content, at);
    if (taken !== undefined) this.#state.inOneGo(() => begin(claim, taken, change));
    if (claim.messages.length === 0) {
      this.#state.claimOver(application);
      return undefined;
    }
    await this.#state.write('claim', change);
    // Or it was taken for one that nobody got when the folder was opened anew.
    this.#state.mustBeCurrent(change);
    claim.isHandedOut = true;
    this.#state.content.place(application, at);
    const [{ content }] = claim.messages as [TakenMessage, ...TakenMessage[]];
    return {
      id: claim.id,
      applicationId: application.id,
      format: content.stored.format,
      row,
      now: at.nowMs,
      messages: claim.messages.map((message) => claimedMessage(message, request, at)),
    };
  }

  async #read(application: LevelApplication, request: ClaimRequest, at: Moment): Promise<Read> {
    const { row, arrivals } = application;
    try {
      const taken = await readDue(this.#state.store, application, {
        limits: request.early ? request : within(row, request),
        untilMs: request.early ? Number.POSITIVE_INFINITY : at.nowMs,
      });
      return { taken, since: { arrivals, nowMs: at.nowMs } };
    } catch (error) {
      application.unreadableUntilMs = at.after(UNREADABLE_MS);
      this.#state.claimOver(application);
      throw error;
    }
  }

  async settle(
    claim: Named,
    { verdicts, row }: { verdicts: readonly (Verdict | Moved)[]; row: RowUpdate },
    at: Moment,
  ): Promise<boolean> {
    const held = this.#held(claim);
    if (held !== undefined) checkCount(verdicts, held.messages);
    const each = ({ application, messages }: LiveClaim, change: Change, index: number): void => {
      const verdict = verdicts[index] as Verdict | Moved;
      change.settle(application, messages[index] as TakenMessage, verdict);
    };
    const apply = ({ application }: LiveClaim): void => {
      application.write(row, at.after(row.waitMs));
    };
    return await this.#end(held, { name: 'settle', each, apply }, at);
  }

  async release(claim: Named, row: RowUpdate | undefined, at: Moment): Promise<boolean> {
    const apply = (held: LiveClaim, change: Change): void => {
      change.putBack(held.application, held);
      if (row !== undefined) held.application.write(row, at.after(row.waitMs));
    };
    return await this.#end(this.#held(claim), { name: 'release', apply }, at);
  }

  /** Nothing is written: after a crash no lease of this process counts any more. */
  extend(claim: Named, leaseMs: number, at: Moment): boolean {
    const held = this.#held(claim);
    if (held === undefined) return false;
    held.endsAtMs = at.after(leaseMs);
    this.#state.content.place(held.application, at);
    return true;
  }

  #held({ id, applicationId }: Named): LiveClaim | undefined {
    return this.#state.content.held(id, applicationId);
  }

  /** Whether there was such a claim. */
  async #end(
    held: LiveClaim | undefined,
    { name, each, apply }: ClaimEnd,
    at: Moment,
  ): Promise<boolean> {
    if (held === undefined) return false;
    const { application } = held;
    held.isEnding = true;
    this.#state.content.place(application, at);
    await application.exclusively(async () => {
      const change = new Change(this.#state.content, at);
      if (each !== undefined) {
        await this.#state.inParts(held.messages, (_, index) => each(held, change, index));
      }
      this.#state.apply(change, () => {
        apply(held, change);
        change.endClaim(application);
      });
      await this.#state.write(name, change);
      this.#state.claimOver(application);
    });
    return true;
  }

  /** What is claimed and not settled was not sent (law 8). */
  async releaseAll(): Promise<void> {
    const { content, store } = this.#state;
    const at = this.#state.now();
    const change = new Change(content, at);
    for (const application of content.all()) {
      const { claim } = application;
      if (claim === undefined) continue;
      change.putBack(application, claim);
      change.endClaim(application);
      application.claim = undefined;
      change.apply();
      content.place(application, at);
    }
    if (store.isUsable) await this.#state.write('release', change);
  }
}

/** What was read for a claim, and since when more may have come. */
interface Read {
  readonly taken: Taken;
  readonly since: { readonly arrivals: number; readonly nowMs: number };
}

function begin(claim: LiveClaim, { taken, since }: Read, change: Change): void {
  const { application } = claim;
  const { messages, head, ...left } = taken;
  claim.messages = messages;
  claim.fresh = { from: application.head, to: head };
  application.head = head;
  application.setDue(left, since);
  if (messages.length > 0) change.beginClaim(application, claim);
}

const within = (row: ClaimLimits, request: ClaimLimits): ClaimLimits => ({
  maxMessages: Math.min(row.maxMessages, request.maxMessages),
  maxBytes: Math.min(row.maxBytes, request.maxBytes),
});

function claimedMessage(
  { content, sends, progress, dueMs, maxMessages }: TakenMessage,
  { early }: ClaimRequest,
  { nowMs }: Moment,
): ClaimedMessage {
  const { stored, origin, sizeBytes, acceptedMs } = content;
  const claimed = { stored, origin, sends, ageMs: nowMs - acceptedMs, progress };
  if (early !== true) return claimed;
  const limit = maxMessages === undefined ? {} : { maxMessages };
  return { ...claimed, moving: { sizeBytes, dueInMs: Math.max(0, dueMs - nowMs), ...limit } };
}

/** One verdict a message. */
function checkCount(verdicts: readonly unknown[], messages: readonly unknown[]): void {
  if (verdicts.length === messages.length) return;
  const detail = `${verdicts.length} verdicts for ${messages.length} messages`;
  throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
}
