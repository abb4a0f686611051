/** Planted bugs of real queues: what is wrong is between the queue and everybody else. */
import type { Claim, MessageQueue, QueueEntry, RowUpdate, Verdict } from '../../src/queue/queue.ts';
import { wrapQueue } from '../helpers/wrapped-queue.ts';

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
        settle: async (claim: Claim, verdicts: readonly Verdict[], row: RowUpdate) =>
          isWrong() ? 'settled' : await queue.settle(claim, verdicts, row),
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
      enqueue: (entries: readonly QueueEntry[]) =>
        queue.enqueue(entries.length > 1 ? entries.slice(0, -1) : entries),
    }),
  'gives a message of a claim back twice': () => {
    const isWrong = everyOf(5);
    return (queue) =>
      wrapQueue(queue, {
        settle: async (claim: Claim, verdicts: readonly Verdict[], row: RowUpdate) => {
          const again = { kind: 'again', afterMs: 0, progress: null } as const;
          const told = isWrong() ? [again, ...verdicts.slice(1)] : verdicts;
          return await queue.settle(claim, told, row);
        },
      });
  },
};
