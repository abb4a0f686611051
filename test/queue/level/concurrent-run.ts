/** Many callers of one queue in a folder at once, on a store that is slow at random and may fail. */
import { SecurityEventError } from '../../../src/errors.ts';
import { LevelQueue } from '../../../src/queue/level/level-queue.ts';
import type {
  Claim,
  MessageQueue,
  Moved,
  Past,
  QueueEntry,
  Verdict,
} from '../../../src/queue/level/old-contract.ts';
import { systemClock } from '../../../src/system/clock.ts';
import { entryOf, isClaim, ROW } from './old-trial.ts';
import { type Dice, diceOf, slowLevel, slowly } from './slow-level.ts';

export interface Plan {
  readonly seed: number;
  readonly folder: string;
  readonly calls: number;
  /** Of a write, that it fails; half of those have been written nevertheless. */
  readonly failures: number;
}

interface Known {
  /** Whether the queue has said so, or may have. */
  isAccepted: boolean;
  least: number;
  most: number;
  ends: number;
}

interface Out {
  readonly claim: Claim;
  readonly untilMs: number;
}

export class ConcurrentRun {
  readonly queue: MessageQueue;
  readonly messages = new Map<string, Known>();
  readonly wrong: string[] = [];
  readonly #plan: Plan;
  readonly #dice: Dice;
  readonly #out = new Map<string, Out>();
  #isFailing = true;
  #left: number;
  delivered = 0;
  failed = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#dice = diceOf(plan.seed);
    this.#left = plan.calls;
    const dice = diceOf(plan.seed + 1);
    const mayFail = (): boolean => this.#isFailing && dice(1000) < plan.failures * 1000;
    const options = { folder: plan.folder, sync: false, maxDeadBytes: 20_000 };
    const bounds = { maxPendingBytes: 60_000, maxPendingMessages: 1000 };
    this.queue = new LevelQueue({ ...options, ...bounds }, systemClock, {
      load: () => Promise.resolve({ ClassicLevel: slowLevel(dice, mayFail) }),
      onWrite: () => {},
    });
  }

  /** All callers at once, until so many calls are made. */
  async live(): Promise<void> {
    const lingerMs = this.#dice(3) === 0 ? 3 : 0;
    // Opening writes, too, and may fail.
    while (!(await this.#opens(lingerMs)));
    const callers = [
      ...Array.from({ length: 8 }, () => () => this.#deliver()),
      ...Array.from({ length: 5 }, () => () => this.#enqueue()),
      () => this.#expire(),
      () => this.#closeOne(),
      () => this.#deadLetters(),
      () => this.#look(),
    ];
    await Promise.all(callers.map((call) => this.#repeat(call)));
    this.#isFailing = false;
    // A write that had begun to fail is heard of by whoever waits for it, and that may be the next one.
    await this.queue.stats().catch((error: unknown) => this.#judge(error));
  }

  async #opens(lingerMs: number): Promise<boolean> {
    try {
      await this.queue.open(ROW, lingerMs);
      return true;
    } catch (error) {
      this.#judge(error);
      return false;
    }
  }

  async #repeat(call: () => Promise<void>): Promise<void> {
    while (this.#left > 0) {
      this.#left -= 1;
      await call().catch((error: unknown) => this.#judge(error));
      await slowly(this.#dice);
    }
  }

  #judge(error: unknown): void {
    const code = error instanceof SecurityEventError ? error.code : undefined;
    if (code === 'ERR_QUEUE_FULL') return;
    if (code === 'ERR_QUEUE_FAILED' && this.#plan.failures > 0) {
      this.failed += 1;
      const { cause } = error as { readonly cause?: Error };
      if (cause === undefined || /EIO|not open/.test(cause.message)) return;
      this.wrong.push(cause.stack ?? cause.message);
      return;
    }
    this.wrong.push(error instanceof Error ? (error.stack ?? '') : String(error));
  }

  #application(): string {
    return `application-${this.#dice(5)}`;
  }

  #past(): Past | undefined {
    const dice = this.#dice;
    if (dice(3) > 0) return undefined;
    const past = {
      sends: dice(4),
      ageMs: dice(2) * dice(5000),
      dueInMs: dice(2) * dice(30),
      progress: null,
    };
    if (dice(8) > 0) return past;
    return { ...past, death: { reason: 'attempts-exhausted', end: null } };
  }

  async #enqueue(): Promise<void> {
    const dice = this.#dice;
    const count = dice(12) === 0 ? 101 + dice(100) : 1 + dice(4);
    const entries = Array.from({ length: count }, (): QueueEntry => {
      const entry = entryOf(this.#application());
      const past = this.#past();
      const sends = past?.sends ?? 0;
      this.messages.set(entry.stored.messageId, {
        isAccepted: false,
        least: sends,
        most: sends,
        ends: 0,
      });
      return past === undefined ? entry : { ...entry, past };
    });
    const { closed } = await this.queue.enqueue(entries);
    for (const { applicationId, stored, past } of entries) {
      const known = this.messages.get(stored.messageId);
      const isIn = past?.death !== undefined || !closed.includes(applicationId);
      if (known && isIn) known.isAccepted = true;
    }
  }

  async claim(early = this.#dice(10) === 0): Promise<Claim | undefined> {
    const startMs = systemClock.monotonicMs();
    const leaseMs = this.#dice(4) === 0 ? this.#dice(6) : 1000;
    const claim = await this.queue.claim({
      tiers: ['healthy', 'failing'],
      maxMessages: 1 + this.#dice(20),
      maxBytes: 1e6,
      leaseMs,
      ...(early ? { early } : {}),
    });
    if (!isClaim(claim)) return undefined;
    const before = this.#out.get(claim.applicationId);
    if (before && before.untilMs > systemClock.monotonicMs()) {
      this.wrong.push(`two claims of ${claim.applicationId}: ${before.claim.id}, ${claim.id}`);
    }
    this.#out.set(claim.applicationId, { claim, untilMs: startMs + leaseMs });
    for (const { stored, sends } of claim.messages) {
      const known = this.messages.get(stored.messageId);
      if (known === undefined) this.wrong.push(`${stored.messageId} is not known`);
      else {
        if (sends < known.least || sends > known.most) {
          this.wrong.push(
            `${stored.messageId} had ${sends} sends, not ${known.least} to ${known.most}`,
          );
        }
        known.least = sends + 1;
        known.most = sends + 1;
      }
    }
    return claim;
  }

  #isOver({ applicationId, id }: Claim): void {
    if (this.#out.get(applicationId)?.claim.id === id) this.#out.delete(applicationId);
  }

  async #deliver(): Promise<void> {
    const claim = await this.claim();
    if (claim === undefined) return;
    for (let time = this.#dice(3); time > 0; time -= 1) await slowly(this.#dice);
    const kind = this.#dice(12);
    if (kind === 0) return;
    if (kind === 1) await this.queue.extend(claim, 1000 + this.#dice(5));
    if (kind < 4) await this.#release(claim);
    else
      await this.settle(
        claim,
        claim.messages.map(() => this.#verdict()),
      );
  }

  async #release(claim: Claim): Promise<void> {
    this.#isOver(claim);
    for (const { stored } of claim.messages) {
      // Until it is known how it ended.
      const known = this.messages.get(stored.messageId);
      if (known) known.least -= 1;
    }
    const row = { ...ROW, waitMs: this.#dice(10) };
    await this.queue.release(claim, this.#dice(2) === 0 ? row : undefined);
  }

  #verdict(): Verdict | Moved {
    const dice = this.#dice;
    const kind = dice(10);
    if (kind < 4) return { kind: 'delivered' };
    if (kind < 5) return { kind: 'dead', reason: 'attempts-exhausted', end: null };
    if (kind < 6) return { kind: 'moved' };
    return {
      kind: 'again',
      afterMs: dice(2) * dice(30),
      progress: null,
      ...(dice(3) === 0 ? { maxMessages: 1 + dice(3) } : {}),
    };
  }

  async settle(claim: Claim, verdicts: readonly (Verdict | Moved)[]): Promise<void> {
    this.#isOver(claim);
    const end = await this.queue.settle(claim, verdicts, {
      ...ROW,
      tier: this.#dice(2) === 0 ? 'healthy' : 'failing',
      maxMessages: 1 + this.#dice(30),
      waitMs: this.#dice(2) * this.#dice(10),
    });
    if (end === 'lost') return;
    for (const [index, { stored }] of claim.messages.entries()) {
      if (verdicts[index]?.kind !== 'delivered') continue;
      this.delivered += 1;
      const known = this.messages.get(stored.messageId);
      if (known) known.ends += 1;
      if (known && known.ends > 1) this.wrong.push(`${stored.messageId} was delivered twice`);
    }
  }

  async #expire(): Promise<void> {
    await this.queue.expire(this.#dice(2) === 0 ? 50 + this.#dice(3000) : 4000, 1 + this.#dice(30));
  }

  async #closeOne(): Promise<void> {
    if (this.#dice(6) > 0) return;
    const id = this.#application();
    for (;;) if ((await this.queue.closeApplication(id, 1 + this.#dice(50))).length === 0) break;
    await slowly(this.#dice);
    await this.queue.reopen(id);
  }

  async #deadLetters(): Promise<void> {
    const filter = this.#dice(3) === 0 ? {} : { applicationId: this.#application() };
    if (this.#dice(3) === 0) await this.queue.purge(filter);
    else await this.queue.replay(filter);
  }

  async #look(): Promise<void> {
    const stats = await this.queue.stats();
    const { accepted, delivered, pending, dead, discarded } = stats;
    let gone = 0;
    for (const count of Object.values(discarded)) gone += count;
    if (accepted !== delivered + pending + dead + gone) {
      this.wrong.push(`${accepted} accepted, ${delivered} + ${pending} + ${dead} + ${gone}`);
    }
  }
}
