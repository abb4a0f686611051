import { SecurityEventError } from '../../src/errors.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';

/** The queue with some of its methods in other hands. */
export const wrapQueue = (queue: MessageQueue, others: Partial<MessageQueue>): MessageQueue =>
  new Proxy(queue, {
    get: (target, name) => {
      const value: unknown = Reflect.get(others, name) ?? Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

type Method = Exclude<keyof MessageQueue, 'durability' | 'onDue'>;

const failed = (): SecurityEventError =>
  new SecurityEventError('ERR_QUEUE_FAILED', { cause: new Error('the store is away') });

export interface FailingQueue {
  readonly queue: MessageQueue;
  /** The next calls of this method reject, as those of a store that is away. */
  readonly fail: (method: Method, times: number) => void;
  /** The next call does what it should, and its answer is lost. */
  readonly loseAnswer: (method: Method) => void;
}

export function createFailingQueue(target: MessageQueue): FailingQueue {
  const failures = new Map<Method, number>();
  const lost = new Set<Method>();
  const queue = new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const method = name as Method;
      return (...args: readonly unknown[]) => {
        const left = failures.get(method) ?? 0;
        if (left > 0) {
          failures.set(method, left - 1);
          return new Promise((_resolve, reject) => {
            setImmediate(() => reject(failed()));
          });
        }
        const answer: unknown = value.apply(target, args);
        if (!lost.delete(method)) return answer;
        return Promise.resolve(answer).then(() => {
          throw failed();
        });
      };
    },
  });
  return {
    queue,
    fail: (method, times) => void failures.set(method, times),
    loseAnswer: (method) => void lost.add(method),
  };
}
