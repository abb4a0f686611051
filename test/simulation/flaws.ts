/** Planted bugs of real queues: what is wrong is between the queue and everybody else. */
import type {
  ApplicationUpdate,
  Claim,
  MessageQueue,
  MessageResult,
  QueueEntry,
} from '../../src/queue/queue.ts';
import { wrapQueue } from '../helpers/queues.ts';

export type Spoil = (queue: MessageQueue) => MessageQueue;

export const SOUND: Spoil = (queue) => queue;

/** Every so many calls it goes wrong. */
const everyOf = (count: number): (() => boolean) => {
  let calls = 0;
  return () => {
    calls += 1;
    return calls % count === 0;
  };
};

export const FLAWS: Readonly<Record<string, () => Spoil>> = {
  'loses a settling': () => {
    const isWrong = everyOf(7);
    return (queue) =>
      wrapQueue(queue, {
        settle: async (
          claim: Claim,
          results: readonly MessageResult[],
          state: ApplicationUpdate,
        ) => (isWrong() ? 'settled' : await queue.settle(claim, results, state)),
      });
  },
  'forgets sendings': () => (queue) =>
    wrapQueue(queue, {
      claim: async (request) => {
        const answer = await queue.claim(request);
        if (!('id' in answer)) return answer;
        return { ...answer, messages: answer.messages.map((one) => ({ ...one, sends: 0 })) };
      },
    }),
  'takes the last of a batch and stores it not': () => (queue) =>
    wrapQueue(queue, {
      enqueue: async (entries: readonly QueueEntry[], delayMs?: number) => {
        if (entries.length < 2) return await queue.enqueue(entries, delayMs);
        const { sequences, closed } = await queue.enqueue(entries.slice(0, -1), delayMs);
        return { sequences: [...sequences, (sequences.at(-1) ?? 0) + 1_000_000], closed };
      },
    }),
  'gives a message of a claim back twice': () => {
    const isWrong = everyOf(5);
    return (queue) =>
      wrapQueue(queue, {
        settle: async (
          claim: Claim,
          results: readonly MessageResult[],
          state: ApplicationUpdate,
        ) => {
          const again = { kind: 'retry', afterMs: 0, progress: null } as const;
          const told = isWrong() ? [again, ...results.slice(1)] : results;
          return await queue.settle(claim, told, state);
        },
      });
  },
};
