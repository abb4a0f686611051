/**
 * Planted bugs: one line of the engine each, and within how many seeds the simulation has to find it.
 * A text that no longer occurs exactly once in its file fails a test, so that the list stays true.
 */
export interface Mutation {
  readonly name: string;
  /** Below src/. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
  /** It is found within the first so many seeds. */
  readonly withinSeeds: number;
}

const ENGINE = 'webhook/engine';

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'retry_count is always 0',
    file: `${ENGINE}/attempt.ts`,
    from: '({ stored, retryCount: sends })',
    to: '({ stored, retryCount: sends * 0 })',
    withinSeeds: 5,
  },
  {
    name: 'date_created is of another clock',
    file: `${ENGINE}/attempt.ts`,
    from: 'formatTimestamp(clock.now())',
    to: 'formatTimestamp(clock.monotonicMs())',
    withinSeeds: 5,
  },
  {
    name: 'the signature leaves out the last byte',
    file: `${ENGINE}/attempt.ts`,
    from: 'sign(body, secret)',
    to: 'sign(body.subarray(1), secret)',
    withinSeeds: 5,
  },
  {
    name: 'a pause is forgotten',
    file: `${ENGINE}/lane.ts`,
    from: "outcome === 'pause' ? retryAfterMs : 0",
    to: "outcome === 'pause' ? 0 : 0",
    withinSeeds: 20,
  },
  {
    name: 'a message that fails alone counts against its destination',
    file: `${ENGINE}/settlement.ts`,
    from: 'counts: !failedAlone &&',
    to: 'counts: true &&',
    withinSeeds: 200,
  },
  {
    name: 'a bisection counts against its destination',
    file: `${ENGINE}/settlement.ts`,
    from: '!(isBisection && isContent)',
    to: '!(isBisection && !isContent)',
    withinSeeds: 200,
  },
  {
    name: 'a destination opens one failure late',
    file: `${ENGINE}/lane.ts`,
    from: 'failures >= policy.openAfterFailures',
    to: 'failures > policy.openAfterFailures',
    withinSeeds: 10,
  },
  {
    name: 'an open destination gets more than one message',
    file: `${ENGINE}/lane.ts`,
    from: 'if (isOpen) return 1;',
    to: 'if (isOpen) return 2;',
    withinSeeds: 20,
  },
  {
    name: 'there is no slow start',
    file: `${ENGINE}/lane.ts`,
    from: 'lane.isOpen ? attempt.now : lane.recoveredAt',
    to: 'lane.isOpen ? null : lane.recoveredAt',
    withinSeeds: 100,
  },
  {
    name: 'the first 410 closes a destination',
    file: `${ENGINE}/lane.ts`,
    from: 'now - (goneAt ?? now) >= policy.goneConfirmMs',
    to: 'now - (goneAt ?? now) >= 0',
    withinSeeds: 50,
  },
  {
    name: 'another URL inherits the lane of the old one',
    file: `${ENGINE}/lane.ts`,
    from: 'stored.urlHash !== urlHash) return fresh',
    to: 'stored.urlHash === null) return fresh',
    withinSeeds: 200,
  },
  {
    name: 'what was too large is sent again as large',
    file: `${ENGINE}/byte-budget.ts`,
    from: 'Math.floor(bodyBytes / 2)',
    to: 'Math.floor(bodyBytes)',
    withinSeeds: 300,
  },
  {
    name: 'a byte budget grows too fast',
    file: `${ENGINE}/byte-budget.ts`,
    from: 'const GROWTH = 0.1;',
    to: 'const GROWTH = 4;',
    withinSeeds: 300,
  },
  {
    name: 'a request is not halved',
    file: `${ENGINE}/verdicts.ts`,
    from: 'Math.floor(count / 2)',
    to: 'count',
    withinSeeds: 50,
  },
  {
    name: 'nothing is bisected',
    file: `${ENGINE}/verdicts.ts`,
    from: 'isShared && (progress.isBisecting || progress.failures > 0)',
    to: 'isShared && progress.isBisecting',
    withinSeeds: 50,
  },
  {
    name: 'a bisection never ends',
    file: `${ENGINE}/settlement.ts`,
    from: 'step.lane.bisectionFailures >= policy.bisectionMaxFailures',
    to: 'step.lane.bisectionFailures >= policy.bisectionMaxFailures * 9',
    withinSeeds: 500,
  },
  {
    name: 'a message that failed alone goes with others again',
    file: `${ENGINE}/verdicts.ts`,
    from: 'if (failedAlone) return { maxMessages: 1 };',
    to: 'if (failedAlone) return {};',
    withinSeeds: 300,
  },
  {
    name: 'a refused message has one attempt too many',
    file: `${ENGINE}/verdicts.ts`,
    from: 'refusals >= policy.refusedMaxAttempts',
    to: 'refusals > policy.refusedMaxAttempts',
    withinSeeds: 50,
  },
  {
    name: 'chance makes a wait shorter',
    file: 'webhook/retry.ts',
    from: '(1 + MAX_JITTER * random())',
    to: '(1 - MAX_JITTER * random())',
    withinSeeds: 5,
  },
  {
    name: 'Retry-After is read as milliseconds',
    file: 'webhook/retry-after.ts',
    from: 'Number(text) * SECOND_MS',
    to: 'Number(text)',
    withinSeeds: 50,
  },
  {
    name: 'a redirect counts as delivered',
    file: 'webhook/outcome.ts',
    from: "{ from: 200, to: 299, outcome: 'delivered' }",
    to: "{ from: 200, to: 399, outcome: 'delivered' }",
    withinSeeds: 100,
  },
  {
    name: 'a slot is not given back',
    file: `${ENGINE}/scheduler.ts`,
    from: 'slot.release();',
    to: '',
    withinSeeds: 50,
  },
  {
    name: 'nobody looks again when a slot is free',
    file: `${ENGINE}/scheduler.ts`,
    from: 'this.#running.delete(work);\n      this.wake();',
    to: 'this.#running.delete(work);',
    withinSeeds: 100,
  },
  {
    name: 'slots are not counted',
    file: `${ENGINE}/slots.ts`,
    from: 'let isHeld = true;\n    free[pool] -= 1;',
    to: 'let isHeld = true;\n    free[pool] -= 0;',
    withinSeeds: 100,
  },
  {
    name: 'flush counts what was accepted after it',
    file: `${ENGINE}/tracker.ts`,
    from: 'if (number > mark.upTo) continue;',
    to: '',
    withinSeeds: 500,
  },
  {
    name: 'an attempt that was ended counts as never sent',
    file: `${ENGINE}/settlement.ts`,
    from: "result.code === 'aborted') return stopped(",
    to: "result.code === 'deadline') return stopped(",
    withinSeeds: 100,
  },
  {
    name: 'messages die before their horizon',
    file: `${ENGINE}/upkeep.ts`,
    from: 'queue.expire(horizonMs + GRACE_MS, PAGE)',
    to: 'queue.expire(horizonMs / 8, PAGE)',
    withinSeeds: 50,
  },
  {
    name: 'nothing dies of its horizon',
    file: `${ENGINE}/upkeep.ts`,
    from: 'queue.expire(horizonMs + GRACE_MS, PAGE)',
    to: 'queue.expire(horizonMs * 9, PAGE)',
    withinSeeds: 300,
  },
  {
    name: 'a destination that is missing is asked for without a break',
    file: `${ENGINE}/lane.ts`,
    from: 'waitMs: jittered(probeWait(missing, policy), random)',
    to: 'waitMs: jittered(0, random)',
    withinSeeds: 50,
  },
  {
    name: 'a claim does not count as a sending',
    file: 'queue/memory/memory-queue.ts',
    from: 'for (const message of taken) message.sends += 1;',
    to: '',
    withinSeeds: 5,
  },
];
