/** A simple model of a queue: the laws in naive code, on plain arrays. */
import type {
  ApplicationState,
  ApplicationUpdate,
  ClaimRequest,
  DeadReason,
  Json,
  MessageResult,
  QueueEntry,
} from '../../../src/queue/queue.ts';
import { INITIAL } from './trial.ts';

export interface ModelMessage {
  readonly entry: QueueEntry;
  sequence: number;
  acceptedMs: number;
  dueMs: number;
  sends: number;
  maxMessages: number;
  retryState: Json;
}

export interface ModelClaim {
  readonly applicationId: string;
  readonly messages: readonly ModelMessage[];
  endsMs: number;
}

interface ModelApplication {
  state: ApplicationState;
  notBeforeMs: number;
  readonly counts: { accepted: number; delivered: number; purged: number };
}

export interface ModelDeath {
  readonly message: ModelMessage;
  readonly reason: DeadReason;
}

const appOf = ({ entry }: ModelMessage): string => entry.applicationId;
const without = <T>(list: readonly T[], gone: readonly T[]): T[] =>
  list.filter((item) => !gone.includes(item));

export class Model {
  nowMs = 0;
  waiting: ModelMessage[] = [];
  live: ModelClaim[] = [];
  dead: ModelDeath[] = [];
  readonly applications = new Map<string, ModelApplication>();
  #sequence = 0;

  application(id: string): ModelApplication {
    const counts = { accepted: 0, delivered: 0, purged: 0 };
    const made = this.applications.get(id) ?? { state: INITIAL, notBeforeMs: 0, counts };
    this.applications.set(id, made);
    return made;
  }

  isClosed = (id: string): boolean => this.applications.get(id)?.state.health === 'closed';

  enqueue(
    entries: readonly QueueEntry[],
    delayMs: number,
  ): { readonly messages: ModelMessage[]; readonly closed: string[] } {
    const isClosed = ({ applicationId }: QueueEntry): boolean => this.isClosed(applicationId);
    const open = entries.filter((one) => !isClosed(one));
    const messages = open.map((entry) => this.#newMessage({ entry, sends: 0, delayMs }));
    for (const { applicationId } of open) this.application(applicationId).counts.accepted += 1;
    this.putBack(messages);
    const closed = entries.filter(isClosed).map(({ applicationId }) => applicationId);
    return { messages, closed: [...new Set(closed)] };
  }

  #newMessage({
    delayMs,
    ...message
  }: Pick<ModelMessage, 'entry' | 'sends'> & { readonly delayMs: number }): ModelMessage {
    this.#sequence += 1;
    const { nowMs } = this;
    return {
      ...message,
      sequence: this.#sequence,
      acceptedMs: nowMs,
      dueMs: nowMs + delayMs,
      maxMessages: Number.POSITIVE_INFINITY,
      retryState: null,
    };
  }

  /** Makes delayed messages due if the waiting messages fill a claim. */
  #endDelays(atMs: number): void {
    for (const [id, { state }] of this.applications) {
      const waiting = this.waitingOf(id);
      if (waiting.length < state.maxMessages) continue;
      for (const message of waiting) {
        if (message.sends === 0)
          message.dueMs = Math.min(message.dueMs, Math.max(atMs, message.acceptedMs));
      }
    }
  }

  /** Returns the waiting messages in the order of law 4. */
  waitingOf(id: string): ModelMessage[] {
    return this.waiting
      .filter((message) => appOf(message) === id)
      .toSorted((one, other) => one.dueMs - other.dueMs || one.sequence - other.sequence);
  }

  /** Returns when a message of the application can be claimed; `undefined` if none can before another call. */
  claimableMs(id: string): number | undefined {
    const claim = this.live.find(({ applicationId }) => applicationId === id);
    const [first] = this.waitingOf(id);
    if (this.isClosed(id)) return undefined;
    if (claim !== undefined) return claim.endsMs;
    return first && Math.max(first.dueMs, this.application(id).notBeforeMs);
  }

  /** Returns when each application of this health can be claimed from. */
  times(ofHealth: ClaimRequest['ofHealth']): Map<string, number> {
    const times = new Map<string, number>();
    for (const [id, { state }] of this.applications) {
      const atMs = this.claimableMs(id);
      if (atMs !== undefined && ofHealth.some((health) => health === state.health))
        times.set(id, atMs);
    }
    return times;
  }

  claim(id: string, request: ClaimRequest): ModelClaim {
    const { state } = this.application(id);
    const due = this.waitingOf(id).filter(({ dueMs }) => dueMs <= this.nowMs);
    const isAllowed = (messages: readonly ModelMessage[]): boolean =>
      new Set(messages.map(({ entry }) => entry.stored.format)).size === 1 &&
      messages.reduce((sum, { entry }) => sum + entry.sizeBytes, 0) <=
        Math.min(state.maxBytes, request.maxBytes) &&
      messages.length <=
        Math.min(state.maxMessages, request.maxMessages, ...messages.map((one) => one.maxMessages));
    let count = 1;
    while (count < due.length && isAllowed(due.slice(0, count + 1))) count += 1;
    const messages = due.slice(0, count);
    const claim = { applicationId: id, messages, endsMs: this.nowMs + request.leaseMs };
    for (const message of messages) message.sends += 1;
    this.waiting = without(this.waiting, messages);
    this.live.push(claim);
    return claim;
  }

  end(claim: ModelClaim, update: ApplicationUpdate | undefined): void {
    this.live = without(this.live, [claim]);
    if (update !== undefined) {
      const { pauseMs, ...rest } = update;
      const application = this.application(claim.applicationId);
      const isClosed = application.state.health === 'closed';
      application.state = isClosed ? { ...rest, health: 'closed' } : rest;
      application.notBeforeMs = this.nowMs + pauseMs;
    }
    this.#endDelays(this.nowMs);
  }

  settle(claim: ModelClaim, results: readonly MessageResult[], update: ApplicationUpdate): void {
    for (const [index, message] of claim.messages.entries()) {
      const result = results[index] as MessageResult;
      if (result.kind === 'delivered') {
        this.application(claim.applicationId).counts.delivered += 1;
      } else if (result.kind === 'dead') {
        this.dead.push({ message, reason: result.reason });
      } else {
        if (result.afterMs > 0) message.dueMs = this.nowMs + result.afterMs;
        message.maxMessages = result.maxMessages ?? Number.POSITIVE_INFINITY;
        message.retryState = result.retryState;
        this.waiting.push(message);
      }
    }
    this.end(claim, update);
  }

  release(claim: ModelClaim, update: ApplicationUpdate | undefined): void {
    for (const message of claim.messages) message.sends -= 1;
    this.waiting.push(...claim.messages);
    this.end(claim, update);
  }

  putBack(messages: readonly ModelMessage[], atMs = this.nowMs): void {
    this.waiting.push(...messages);
    this.#endDelays(atMs);
  }

  advance(ms: number): void {
    this.nowMs += ms;
    for (const claim of this.live.filter(({ endsMs }) => endsMs <= this.nowMs)) {
      this.putBack(claim.messages, claim.endsMs);
      this.live = without(this.live, [claim]);
    }
  }

  deadLetter(messages: readonly ModelMessage[], reason: DeadReason): void {
    this.waiting = without(this.waiting, messages);
    this.dead.push(...messages.map((message) => ({ message, reason })));
  }

  /** Sorts the dead letters in the order of these ids. Others come last. */
  orderDead(messageIds: readonly string[]): void {
    const placeOf = ({ message }: ModelDeath): number => {
      const place = messageIds.indexOf(message.entry.stored.messageId);
      return place === -1 ? messageIds.length : place;
    };
    this.dead = this.dead.toSorted((one, other) => placeOf(one) - placeOf(other));
  }

  reopen(id: string): void {
    if (!this.applications.has(id) || this.application(id).state.health === 'healthy') return;
    const { circuitBreaker } = this.application(id).state;
    const state = { ...INITIAL, circuitBreaker };
    Object.assign(this.application(id), { state, notBeforeMs: 0 });
    this.#endDelays(this.nowMs);
  }

  replay(isWanted: (death: ModelDeath) => boolean): number {
    const found = this.dead.filter(
      (death) => isWanted(death) && !this.isClosed(appOf(death.message)),
    );
    this.dead = without(this.dead, found);
    const replayed = found.map(({ message: { entry, sends } }) =>
      this.#newMessage({ entry, sends, delayMs: 0 }),
    );
    this.putBack(replayed);
    return found.length;
  }

  purge(isWanted: (death: ModelDeath) => boolean): number {
    const found = this.dead.filter(isWanted);
    this.dead = without(this.dead, found);
    for (const { message } of found) this.application(appOf(message)).counts.purged += 1;
    return found.length;
  }

  pending(): ModelMessage[] {
    return [...this.waiting, ...this.live.flatMap(({ messages }) => messages)];
  }

  /** Returns the expected `stats`, without reasons whose count is 0. */
  stats(): object {
    const pending = this.pending();
    const ledgerOf = (isOf: (id: string) => boolean) => {
      const counts = [...this.applications].filter(([id]) => isOf(id)).map(([, one]) => one.counts);
      const sum = (key: 'accepted' | 'delivered' | 'purged'): number =>
        counts.reduce((total, one) => total + one[key], 0);
      return {
        accepted: sum('accepted'),
        delivered: sum('delivered'),
        pending: pending.filter((message) => isOf(appOf(message))).length,
        dead: this.dead.filter(({ message }) => isOf(appOf(message))).length,
        discarded: sum('purged') > 0 ? { purged: sum('purged') } : {},
      };
    };
    return {
      ...ledgerOf(() => true),
      pendingBytes: pending.reduce((sum, { entry }) => sum + entry.sizeBytes, 0),
      applications: Object.fromEntries(
        [...this.applications].map(([id, { state }]) => [
          id,
          { ...ledgerOf((one) => one === id), health: state.health },
        ]),
      ),
    };
  }

  oldestDueMs(): number {
    const claimed = new Set(this.live.map(({ applicationId }) => applicationId));
    const ready = [...this.times(['healthy', 'failing', 'untried'])].filter(
      ([id, atMs]) => atMs <= this.nowMs && !claimed.has(id),
    );
    return Math.max(0, ...ready.map(([, atMs]) => this.nowMs - atMs));
  }
}
