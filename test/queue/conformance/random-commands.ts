/** The calls of the random run. */
import fc from 'fast-check';

/** Mostly the same, so that many messages wait together. */
const anyApplication = fc.constantFrom('one', 'one', 'one', 'two', 'three');
const anyUnits = fc.integer({ min: 0, max: 6 });
const HEALTH = ['healthy', 'failing', 'untried'] as const;
const anyMax = fc.constantFrom(1, 2, 3, 1000, 1000, 1000);

const anyResult = fc.oneof(
  fc.constant({ kind: 'delivered' as const }),
  fc.record({
    kind: fc.constant('dead' as const),
    reason: fc.constantFrom('attempts-exhausted' as const, 'too-large' as const),
    lastAttempt: fc.constant('end'),
  }),
  fc.record({
    kind: fc.constant('retry' as const),
    units: anyUnits,
    maxMessages: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    retryState: fc.nat({ max: 9 }),
  }),
);

const anyState = fc.record({
  health: fc.constantFrom(...HEALTH, 'closed' as const),
  maxMessages: fc.constantFrom(1, 3, 1000, 1000),
  maxBytes: fc.constantFrom(100, 250, 100_000),
  circuitBreaker: fc.nat({ max: 9 }),
  units: fc.constantFrom(0, 0, 0, 2),
});

/** Index of a claim: mostly the newest. Most others have ended. */
const anyClaim = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 5 }));

const anyFilter = fc.record({
  applicationId: fc.option(anyApplication, { nil: undefined }),
  /** Number of dead letters to name by id, from the first. */
  first: fc.option(fc.nat({ max: 3 }), { nil: undefined }),
});

const anyEntry = fc.record({
  applicationId: anyApplication,
  format: fc.constantFrom(2 as const, 2 as const, 2 as const, 1 as const),
  sizeBytes: fc.constantFrom(20, 80, 150),
});

/** Messages that a queue may store together. */
const manyAlike = fc
  .tuple(anyEntry, fc.integer({ min: 4, max: 9 }))
  .map(([entry, count]) => Array.from({ length: count }, () => entry));

export const anyCommand = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('enqueue' as const),
      entries: fc.oneof(fc.array(anyEntry, { maxLength: 5 }), manyAlike),
      delayUnits: fc.constantFrom(0, 0, 0, 1, 4),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('claim' as const),
      ofHealth: fc.oneof({ weight: 4, arbitrary: fc.constant(HEALTH) }, fc.subarray([...HEALTH])),
      maxMessages: anyMax,
      maxBytes: fc.constantFrom(200, 100_000, 100_000),
      leaseUnits: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      which: anyClaim,
      results: fc.array(anyResult, { minLength: 1, maxLength: 3 }),
      state: anyState,
    }),
  },
  fc.record({
    kind: fc.constant('release' as const),
    which: anyClaim,
    state: fc.option(anyState, { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('extend' as const), which: anyClaim, units: anyUnits }),
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('advance' as const),
      units: fc.integer({ min: 1, max: 4 }),
    }),
  },
  fc.record({ kind: fc.constant('deadLetterOlderThan' as const), units: anyUnits, max: anyMax }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('deadLetterClosed' as const),
      applicationId: anyApplication,
      max: anyMax,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('reopen' as const), applicationId: anyApplication }),
  },
  fc.record({ kind: fc.constant('replay' as const), filter: anyFilter }),
  fc.record({ kind: fc.constant('purge' as const), filter: anyFilter }),
);

export type Command = typeof anyCommand extends fc.Arbitrary<infer T> ? T : never;
export type Run<K extends Command['kind']> = Extract<Command, { readonly kind: K }>;
