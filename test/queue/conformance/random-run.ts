/** Any sequence of calls leaves the queue as the model says, and its ledger balanced. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Claim, DeadLetterFilter, RowUpdate, Verdict } from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import { Model, type ModelClaim, type ModelDeath, type ModelMessage } from './model.ts';
import { counted, entryOf, isClaim, ROW, Trial } from './trial.ts';

const anyApplication = fc.constantFrom('one', 'two', 'three');
const anyUnits = fc.integer({ min: 0, max: 6 });
const anyMax = fc.constantFrom(1, 2, 3, 1000);

const anyVerdict = fc.oneof(
  fc.constant({ kind: 'delivered' as const }),
  fc.record({
    kind: fc.constant('dead' as const),
    reason: fc.constantFrom('attempts-exhausted' as const, 'too-large' as const),
    end: fc.constant('end'),
  }),
  fc.record({
    kind: fc.constant('again' as const),
    units: anyUnits,
    maxMessages: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    progress: fc.nat({ max: 9 }),
  }),
);

const anyRow = fc.record({
  tier: fc.constantFrom('healthy' as const, 'failing' as const, 'closed' as const),
  maxMessages: fc.constantFrom(1, 3, 1000),
  maxBytes: fc.constantFrom(100, 250, 100_000),
  lane: fc.nat({ max: 9 }),
  units: fc.constantFrom(0, 0, 0, 2),
});

/** Which claim: the newest, mostly; the others are stale, mostly. */
const anyClaim = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 5 }));

const anyFilter = fc.record({
  applicationId: fc.option(anyApplication, { nil: undefined }),
  /** The first of all, by their ids. */
  first: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
});

const anyEntry = fc.record({
  applicationId: anyApplication,
  format: fc.constantFrom(2 as const, 2 as const, 2 as const, 1 as const),
  sizeBytes: fc.constantFrom(20, 80, 150),
});

/** What a queue may keep as one. */
const manyAlike = fc
  .tuple(anyEntry, fc.integer({ min: 4, max: 9 }))
  .map(([entry, count]) => Array.from({ length: count }, () => entry));

const anyCommand = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('enqueue' as const),
      entries: fc.oneof(fc.array(anyEntry, { maxLength: 5 }), manyAlike),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      tiers: fc.subarray(['healthy' as const, 'failing' as const], { minLength: 1 }),
      maxMessages: anyMax,
      maxBytes: fc.constantFrom(100, 200, 100_000),
      leaseUnits: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      which: anyClaim,
      verdicts: fc.array(anyVerdict, { minLength: 1, maxLength: 3 }),
      row: anyRow,
    }),
  },
  fc.record({
    kind: fc.constant('release' as const),
    which: anyClaim,
    row: fc.option(anyRow, { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('extend' as const), which: anyClaim, units: anyUnits }),
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      units: fc.integer({ min: 1, max: 4 }),
    }),
  },
  fc.record({ kind: fc.constant('expire' as const), units: anyUnits, max: anyMax }),
  fc.record({ kind: fc.constant('close' as const), applicationId: anyApplication, max: anyMax }),
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('reopen' as const), applicationId: anyApplication }),
  },
  fc.record({ kind: fc.constant('replay' as const), filter: anyFilter }),
  fc.record({ kind: fc.constant('purge' as const), filter: anyFilter }),
);

type Command = typeof anyCommand extends fc.Arbitrary<infer T> ? T : never;
type Run<K extends Command['kind']> = Extract<Command, { readonly kind: K }>;

const idOf = ({ entry }: ModelMessage): string => entry.stored.messageId;

class Comparison {
  readonly #trial: Trial;
  readonly #model = new Model();
  /** Newest first, the ended ones too. */
  readonly #claims: { readonly real: Claim; readonly model: ModelClaim }[] = [];
  #steps = 0;

  constructor(trial: Trial) {
    this.#trial = trial;
  }

  async run(command: Command): Promise<void> {
    this.#steps += 1;
    await this.#do(command);
    await this.#compare();
  }

  #do(command: Command): Promise<void> {
    switch (command.kind) {
      case 'enqueue':
        return this.#enqueue(command);
      case 'claim':
        return this.#claim(command);
      case 'settle':
        return this.#settle(command);
      case 'release':
        return this.#release(command);
      case 'extend':
        return this.#extend(command);
      case 'advance':
        return this.#advance(command);
      case 'expire':
        return this.#expire(command);
      case 'close':
        return this.#close(command);
      case 'reopen':
        return this.#reopen(command);
      default:
        return this.#rummage(command);
    }
  }

  async #enqueue({ entries }: Run<'enqueue'>): Promise<void> {
    const made = entries.map(({ applicationId, ...options }) => entryOf(applicationId, options));
    const { closed } = await this.#trial.queue.enqueue(made);
    assert.deepEqual(closed.toSorted(), this.#model.enqueue(made).toSorted());
  }

  async #claim({ tiers, maxMessages, maxBytes, leaseUnits }: Run<'claim'>): Promise<void> {
    const leaseMs = this.#trial.ms(leaseUnits);
    const request = this.#trial.request({ tiers, maxMessages, maxBytes, leaseMs });
    const times = this.#model.times(tiers);
    const { nowMs } = this.#model;
    const real = await this.#trial.queue.claim(request);
    if (!isClaim(real)) {
      const firstMs = Math.min(...times.values());
      assert.equal('dueInMs' in real, times.size > 0);
      assert.ok(firstMs > nowMs, 'nothing was claimed, but something is due');
      this.#isAbout(real.dueInMs ?? Number.POSITIVE_INFINITY, firstMs - nowMs);
      return;
    }
    // Whose turn it is the queue decides, among those that can be claimed.
    assert.ok((times.get(real.applicationId) ?? Number.NaN) <= nowMs, 'it cannot be claimed');
    const model = this.#model.claim(real.applicationId, request);
    assert.deepEqual(real.row, this.#model.application(real.applicationId).row);
    assert.deepEqual(
      // Of whatever class a queue's objects are.
      real.messages.map(({ stored, origin, ...message }) => ({
        ...message,
        stored: { ...stored },
        origin: { ...origin },
        ageMs: 0,
      })),
      model.messages.map(({ entry: { stored, origin }, sends, progress }) => ({
        stored,
        origin,
        sends: sends - 1,
        progress,
        ageMs: 0,
      })),
    );
    for (const [index, { ageMs }] of real.messages.entries()) {
      this.#isAbout(ageMs, nowMs - (model.messages[index]?.acceptedMs ?? 0));
    }
    assert.ok(!this.#claims.some((claim) => claim.real.id === real.id), 'an id came twice');
    this.#claims.unshift({ real, model });
  }

  #rowOf({ units, ...row }: Run<'settle'>['row']): RowUpdate {
    return { ...row, waitMs: this.#trial.ms(units) };
  }

  #isLive(claim: ModelClaim): boolean {
    return this.#model.live.includes(claim);
  }

  async #settle({ which, verdicts, row }: Run<'settle'>): Promise<void> {
    const claim = this.#claims[which];
    if (claim === undefined) return;
    const isLive = this.#isLive(claim.model);
    const given = claim.real.messages.map((_, index) =>
      this.#verdictOf(verdicts[index % verdicts.length] as (typeof verdicts)[number]),
    );
    const answer = await this.#trial.queue.settle(claim.real, given, this.#rowOf(row));
    assert.equal(answer, isLive ? 'settled' : 'lost');
    if (isLive) this.#model.settle(claim.model, given, this.#rowOf(row));
  }

  /** Each step has a time of its own, or the order of what is due at once would hang on a tie. */
  #verdictOf(verdict: Run<'settle'>['verdicts'][number]): Verdict {
    if (verdict.kind !== 'again') return verdict;
    const { units, maxMessages, ...rest } = verdict;
    return {
      ...rest,
      afterMs: units === 0 ? 0 : this.#trial.ms(units) - this.#trial.harness.unitMs + this.#steps,
      ...(maxMessages === undefined ? {} : { maxMessages }),
    };
  }

  async #release({ which, row }: Run<'release'>): Promise<void> {
    const claim = this.#claims[which];
    if (claim === undefined) return;
    const isLive = this.#isLive(claim.model);
    const given = row === undefined ? undefined : this.#rowOf(row);
    const answer = await this.#trial.queue.release(claim.real, given);
    assert.equal(answer, isLive ? 'released' : 'lost');
    if (isLive) this.#model.release(claim.model, given);
  }

  async #extend({ which, units }: Run<'extend'>): Promise<void> {
    const claim = this.#claims[which];
    if (claim === undefined) return;
    const isLive = this.#isLive(claim.model);
    const leaseMs = this.#trial.ms(units + 1);
    const answer = await this.#trial.queue.extend(claim.real, leaseMs);
    assert.equal(answer, isLive ? 'extended' : 'lost');
    if (isLive) claim.model.endsMs = this.#model.nowMs + leaseMs;
  }

  async #advance({ units }: Run<'advance'>): Promise<void> {
    await this.#trial.advance(units);
    const before = this.#model.live;
    this.#model.advance(this.#trial.ms(units));
    const ended = before.filter((claim) => !this.#isLive(claim));
    // A queue may leave these to the next page of closing, the model does not.
    for (const { applicationId } of ended) {
      if (!this.#model.isClosed(applicationId)) continue;
      await this.#trial.queue.closeApplication(applicationId, 1000);
      this.#model.bury(this.#model.waitingOf(applicationId), 'destination-closed');
    }
  }

  async #expire({ units, max }: Run<'expire'>): Promise<void> {
    // Between two times at which something was accepted.
    const olderThanMs = this.#trial.ms(units + 0.5);
    const old = this.#model.waiting.filter(
      ({ acceptedMs }) => this.#model.nowMs - acceptedMs > olderThanMs,
    );
    const expired = await this.#trial.queue.expire(olderThanMs, max);
    this.#buryChosen(expired, { old, max, reason: 'horizon-passed' });
  }

  async #close({ applicationId, max }: Run<'close'>): Promise<void> {
    this.#model.close(applicationId);
    const old = this.#model.waitingOf(applicationId);
    const closed = await this.#trial.queue.closeApplication(applicationId, max);
    this.#buryChosen(closed, { old, max, reason: 'destination-closed' });
  }

  /** Which ones fit into the page the queue decides. */
  #buryChosen(
    chosen: readonly { readonly messageId: string }[],
    { old, max, reason }: { old: ModelMessage[]; max: number; reason: ModelDeath['reason'] },
  ): void {
    const names = new Set(chosen.map(({ messageId }) => messageId));
    const buried = old.filter((message) => names.has(idOf(message)));
    const count = Math.min(max, old.length);
    assert.deepEqual([chosen.length, buried.length], [count, count]);
    this.#model.bury(buried, reason);
  }

  async #reopen({ applicationId }: Run<'reopen'>): Promise<void> {
    await this.#trial.queue.reopen(applicationId);
    this.#model.reopen(applicationId);
  }

  async #rummage({ kind, filter }: Run<'replay'> | Run<'purge'>): Promise<void> {
    const { applicationId, first } = filter;
    const { items } = await this.#trial.queue.deadLetters({ limit: first ?? 1000 });
    const names = new Set(items.map(({ stored }) => stored.messageId));
    // Of what died in one call the queue decides which death was first.
    this.#model.orderDead([...names]);
    const given: DeadLetterFilter = {
      ...(applicationId === undefined ? {} : { applicationId }),
      ...(first === undefined ? {} : { ids: items.map(({ id }) => id) }),
    };
    const isMeant = ({ message }: ModelDeath): boolean =>
      names.has(idOf(message)) &&
      (applicationId ?? message.entry.applicationId) === message.entry.applicationId;
    assert.equal(await this.#trial.queue[kind](given), this.#model[kind](isMeant));
  }

  async #compare(): Promise<void> {
    const { applications, oldestDueMs, discarded, ...total } = await this.#trial.queue.stats();
    const rows = [...applications].map(([id, row]) => [
      id,
      { ...row, discarded: counted(row.discarded) },
    ]);
    assert.deepEqual(
      { ...total, discarded: counted(discarded), applications: Object.fromEntries(rows) },
      this.#model.stats(),
    );
    this.#isAbout(oldestDueMs, this.#model.oldestDueMs());
    await this.#trial.counts();
  }

  /** At the end all dead letters are looked at. */
  async finish(): Promise<void> {
    const letters = await this.#trial.deadLetters();
    assert.deepEqual(
      letters.map((one) => [one.stored.messageId, one.reason, one.sends].join()).toSorted(),
      this.#model.dead
        .map(({ message, reason }) => [idOf(message), reason, message.sends].join())
        .toSorted(),
    );
    for (const [id, { row }] of this.#model.applications) {
      assert.deepEqual(await this.#trial.queue.application(id), row);
    }
  }

  #isAbout(actualMs: number, expectedMs: number): void {
    if (actualMs === expectedMs) return;
    const { toleranceMs } = this.#trial.harness;
    assert.ok(Math.abs(actualMs - expectedMs) <= toleranceMs, `${actualMs}, not ${expectedMs}`);
  }
}

export function describeRandomRun(harness: QueueHarness): void {
  test('any sequence of calls leaves what a naive queue would hold', async () => {
    const commands = fc.array(anyCommand, { minLength: 5, maxLength: 50, size: 'max' });
    const run = async (sequence: readonly Command[]): Promise<void> => {
      const subject = await harness.create();
      try {
        await subject.queue.open(ROW);
        const comparison = new Comparison(new Trial(harness, subject));
        for (const command of sequence) await comparison.run(command);
        await comparison.finish();
      } finally {
        await subject.dispose();
      }
    };
    const property = fc.asyncProperty(commands, run);
    expect(await fc.check(property, { numRuns: harness.randomRuns })).toSatisfy(passes);
  });
}

/** Throws a report that gives the seed and the shortest sequence that fails. */
function passes(details: fc.RunDetails<[readonly Command[]]>): boolean {
  if (details.failed) throw new Error(fc.defaultReportMessage(details));
  return details.numRuns > 0;
}
