/** Bugs in retries, dead letters and counts of messages. */
import type { Mutation } from './mutation.ts';

const FOLDER = 'delivery';
const QUEUE = 'queue/memory';

export const MESSAGE_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a message that is too large counts as delivered',
    file: `${FOLDER}/settlement.ts`,
    from: "return giveUp({ reason: 'too-large', waitMs: undefined }, end);",
    to: "return { kind: 'delivered' };",
    invariant: 'delivered-is-confirmed',
    withinSeeds: 50,
  },
  {
    name: 'Retry-After is read as milliseconds',
    file: 'webhook/retry.ts',
    from: 'Number(text) * SECOND_MS',
    to: 'Number(text)',
    invariant: 'retry-after',
    withinSeeds: 100,
  },
  {
    name: 'messages expire before their horizon',
    file: `${FOLDER}/maintenance.ts`,
    from: 'queue.deadLetterOlderThan(horizonMs + GRACE_MS, PAGE_SIZE)',
    to: 'queue.deadLetterOlderThan(horizonMs / 8, PAGE_SIZE)',
    invariant: 'dead-reason',
    withinSeeds: 50,
  },
  {
    name: 'messages expire long after their horizon',
    file: `${FOLDER}/maintenance.ts`,
    from: 'queue.deadLetterOlderThan(horizonMs + GRACE_MS, PAGE_SIZE)',
    to: 'queue.deadLetterOlderThan(horizonMs * 9, PAGE_SIZE)',
    invariant: 'horizon',
    withinSeeds: 300,
  },
  {
    name: 'a dead letter has the wrong reason',
    file: `${QUEUE}/store.ts`,
    from: '{ application, message, reason, lastAttempt, acceptedAt, diedAt }',
    to: "{ application, message, reason: 'too-large', lastAttempt, acceptedAt, diedAt }",
    invariant: 'one-outcome',
    withinSeeds: 20,
  },
  {
    name: 'delivered messages still count as pending',
    file: `${QUEUE}/store.ts`,
    from: 'this.#addPending(-messages.length, -sizeBytes);',
    to: '',
    invariant: 'ledger',
    withinSeeds: 5,
  },
  {
    name: 'messages claimed by a crashed process are lost',
    file: `${QUEUE}/store.ts`,
    from: 'application.rescueClaim();',
    to: 'application.claim = undefined;',
    invariant: 'all-delivered',
    withinSeeds: 50,
  },
];
