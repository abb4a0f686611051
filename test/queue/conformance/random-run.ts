/** Compares a queue with the model after each of many random calls. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type {
  ApplicationUpdate,
  Claim,
  DeadLetteredMessage,
  DeadLetterFilter,
  MessageResult,
} from '../../../src/queue/queue.ts';
import type { QueueHarness } from './harness.ts';
import { Model, type ModelClaim, type ModelDeath, type ModelMessage } from './model.ts';
import { anyCommand, type Command, type Run } from './random-commands.ts';
import { Sequences } from './sequences-of-run.ts';
import { counted, entryOf, INITIAL, isClaim, Trial } from './trial.ts';

/** Counted in steps, so that retries and leases often end together. */
const UNIT_MS = 1000;

const idOf = ({ entry }: ModelMessage): string => entry.stored.messageId;

/** A method for each kind of call. */
type Handlers = { readonly [K in Command['kind']]: (command: Run<K>) => Promise<void> };

class Comparison implements Handlers {
  readonly #trial: Trial;
  readonly #model = new Model();
  readonly #sequences = new Sequences();
  /** Newest first, also those that have ended. */
  readonly #claims: { readonly real: Claim; readonly model: ModelClaim }[] = [];
  /** The queue's time when the model's is 0. */
  #startedMs: number | undefined;
  #steps = 0;

  constructor(trial: Trial) {
    this.#trial = trial;
  }

  async run(command: Command): Promise<void> {
    this.#steps += 1;
    // The type of the method is that of the command.
    await this[command.kind](command as never);
    await this.#compare();
  }

  async enqueue({ entries, delayUnits }: Run<'enqueue'>): Promise<void> {
    const made = entries.map(({ applicationId, ...options }) => entryOf(applicationId, options));
    const delayMs = this.#laterMs(delayUnits);
    const { sequences, closed } = await this.#trial.queue.enqueue(made, delayMs);
    const accepted = this.#model.enqueue(made, delayMs);
    assert.deepEqual(closed.toSorted(), accepted.closed.toSorted());
    this.#sequences.accept(accepted.messages, sequences);
  }

  async claim({ ofHealth, maxMessages, maxBytes, leaseUnits }: Run<'claim'>): Promise<void> {
    const leaseMs = leaseUnits * UNIT_MS;
    const request = this.#trial.request({ ofHealth, maxMessages, maxBytes, leaseMs });
    const times = this.#model.times(ofHealth);
    const { nowMs } = this.#model;
    const real = await this.#trial.queue.claim(request);
    if (!isClaim(real)) {
      const firstMs = Math.min(...times.values());
      assert.equal('dueInMs' in real, times.size > 0);
      assert.ok(firstMs > nowMs, 'nothing was claimed, but a message is due');
      assert.equal(real.dueInMs ?? Number.POSITIVE_INFINITY, firstMs - nowMs);
      return;
    }
    // The queue decides whose turn it is.
    assert.ok((times.get(real.applicationId) ?? Number.NaN) <= nowMs, 'it cannot be claimed');
    this.#startedMs ??= real.nowMs - nowMs;
    assert.equal(real.nowMs, this.#startedMs + nowMs);
    const model = this.#model.claim(real.applicationId, request);
    assert.deepEqual(real.state, this.#model.application(real.applicationId).state);
    assert.deepEqual(
      // Copied, since the objects of each queue have another class.
      real.messages.map(({ stored, retryCount, retryState }) => ({
        retryCount,
        retryState,
        stored: { ...stored },
        ageMs: 0,
      })),
      model.messages.map(({ entry: { stored }, sends, retryState }) => ({
        stored,
        retryCount: sends - 1,
        retryState,
        ageMs: 0,
      })),
    );
    for (const [index, { ageMs, sequence }] of real.messages.entries()) {
      const message = model.messages[index] as ModelMessage;
      assert.equal(ageMs, nowMs - message.acceptedMs);
      this.#sequences.check(message, sequence);
    }
    assert.ok(!this.#claims.some((claim) => claim.real.id === real.id), 'two claims have one id');
    this.#claims.unshift({ real, model });
  }

  #updateOf({ units, ...state }: Run<'settle'>['state']): ApplicationUpdate {
    return { ...state, pauseMs: units * UNIT_MS };
  }

  #isLive(claim: ModelClaim): boolean {
    return this.#model.live.includes(claim);
  }

  async settle({ which, results, state }: Run<'settle'>): Promise<void> {
    const claim = this.#claims[which];
    if (claim === undefined) return;
    const isLive = this.#isLive(claim.model);
    const given = claim.real.messages.map((_, index) =>
      this.#resultOf(results[index % results.length] as (typeof results)[number]),
    );
    const answer = await this.#trial.queue.settle(claim.real, given, this.#updateOf(state));
    assert.equal(answer, isLive ? 'settled' : 'lost');
    if (isLive) this.#model.settle(claim.model, given, this.#updateOf(state));
  }

  /** Gives each step another time, so that the order of messages that are due never depends on a tie. */
  #laterMs(units: number): number {
    return units === 0 ? 0 : (units - 1) * UNIT_MS + this.#steps;
  }

  #resultOf(result: Run<'settle'>['results'][number]): MessageResult {
    if (result.kind !== 'retry') return result;
    const { units, maxMessages, ...rest } = result;
    return {
      ...rest,
      afterMs: this.#laterMs(units),
      ...(maxMessages === undefined ? {} : { maxMessages }),
    };
  }

  async release({ which, state }: Run<'release'>): Promise<void> {
    const claim = this.#claims[which];
    if (claim === undefined) return;
    const isLive = this.#isLive(claim.model);
    const given = state === undefined ? undefined : this.#updateOf(state);
    const answer = await this.#trial.queue.release(claim.real, given);
    assert.equal(answer, isLive ? 'released' : 'lost');
    if (isLive) this.#model.release(claim.model, given);
  }

  async extend({ which, units }: Run<'extend'>): Promise<void> {
    const claim = this.#claims[which];
    if (claim === undefined) return;
    const isLive = this.#isLive(claim.model);
    const leaseMs = (units + 1) * UNIT_MS;
    const answer = await this.#trial.queue.extend(claim.real, leaseMs);
    assert.equal(answer, isLive ? 'extended' : 'lost');
    if (isLive) claim.model.endsMs = this.#model.nowMs + leaseMs;
  }

  async advance({ units }: Run<'advance'>): Promise<void> {
    await this.#trial.advance(units * UNIT_MS);
    this.#model.advance(units * UNIT_MS);
  }

  async deadLetterOlderThan({ units, max }: Run<'deadLetterOlderThan'>): Promise<void> {
    // Between two times at which something was accepted.
    const olderThanMs = (units + 0.5) * UNIT_MS;
    const old = this.#model.waiting.filter(
      ({ acceptedMs }) => this.#model.nowMs - acceptedMs > olderThanMs,
    );
    const expired = await this.#trial.queue.deadLetterOlderThan(olderThanMs, max);
    this.#deadLetterChosen(expired, { old, max, reason: 'horizon-passed' });
  }

  async deadLetterClosed({ applicationId, max }: Run<'deadLetterClosed'>): Promise<void> {
    const isClosed = this.#model.isClosed(applicationId);
    const old = isClosed ? this.#model.waitingOf(applicationId) : [];
    const closed = await this.#trial.queue.deadLetterClosed(applicationId, max);
    this.#deadLetterChosen(closed, { old, max, reason: 'destination-closed' });
  }

  /** The queue decides which messages are in the page. */
  #deadLetterChosen(
    chosen: readonly DeadLetteredMessage[],
    { old, max, reason }: { old: ModelMessage[]; max: number; reason: ModelDeath['reason'] },
  ): void {
    const names = new Set(chosen.map(({ messageId }) => messageId));
    const found = old.filter((message) => names.has(idOf(message)));
    for (const { messageId, sequence } of chosen) {
      const message = found.find((one) => idOf(one) === messageId);
      if (message !== undefined) this.#sequences.check(message, sequence);
    }
    const count = Math.min(max, old.length);
    assert.deepEqual([chosen.length, found.length], [count, count]);
    this.#model.deadLetter(found, reason);
  }

  async reopen({ applicationId }: Run<'reopen'>): Promise<void> {
    await this.#trial.queue.reopenApplication(applicationId);
    this.#model.reopen(applicationId);
  }

  replay(command: Run<'replay'>): Promise<void> {
    return this.#replayOrPurge(command);
  }

  purge(command: Run<'purge'>): Promise<void> {
    return this.#replayOrPurge(command);
  }

  async #replayOrPurge({ kind, filter }: Run<'replay'> | Run<'purge'>): Promise<void> {
    const { applicationId, first } = filter;
    const { items } = await this.#trial.queue.listDeadLetters({ limit: first ?? 1000 });
    const names = new Set(items.map(({ stored }) => stored.messageId));
    // The queue decides the order of messages that became dead letters in one call.
    this.#model.orderDead([...names]);
    const given: DeadLetterFilter = {
      ...(applicationId === undefined ? {} : { applicationId }),
      ...(first === undefined ? {} : { ids: items.map(({ id }) => id) }),
    };
    const isWanted = ({ message }: ModelDeath): boolean =>
      names.has(idOf(message)) &&
      (applicationId ?? message.entry.applicationId) === message.entry.applicationId;
    const { queue } = this.#trial;
    const count = await (kind === 'replay'
      ? queue.replayDeadLetters(given)
      : queue.purgeDeadLetters(given));
    assert.equal(count, this.#model[kind](isWanted));
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
    assert.equal(oldestDueMs, this.#model.oldestDueMs());
    await this.#trial.counts();
    const pending = this.#model.pending();
    for (const { ranges, count } of this.#sequences.rangesOf(pending)) {
      assert.equal(await this.#trial.queue.countPending(ranges), count);
    }
  }

  /** Compares dead letters and states of applications, at the end. */
  async finish(): Promise<void> {
    const letters = await this.#trial.deadLetters();
    assert.deepEqual(
      letters.map((one) => [one.stored.messageId, one.reason, one.sends].join()).toSorted(),
      this.#model.dead
        .map(({ message, reason }) => [idOf(message), reason, message.sends].join())
        .toSorted(),
    );
    for (const [id, { state }] of this.#model.applications) {
      assert.deepEqual(await this.#trial.queue.applicationState(id), state);
    }
  }
}

export function describeRandomRun(harness: QueueHarness): void {
  test('holds the same as a simple model after any sequence of calls', async () => {
    const commands = fc.array(anyCommand, { minLength: 5, maxLength: 50, size: 'max' });
    const run = async (sequence: readonly Command[]): Promise<void> => {
      const subject = await harness.create();
      try {
        await subject.queue.open(INITIAL);
        const comparison = new Comparison(new Trial(subject));
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

/** Throws a report that gives the seed, the shortest sequence that fails, and its error as the cause. */
function passes(details: fc.RunDetails<[readonly Command[]]>): boolean {
  if (details.failed) {
    const message = fc.defaultReportMessage(details);
    throw new Error(message, { cause: details.errorInstance });
  }
  return details.numRuns > 0;
}
