import { ownProperties } from '../../src/own-properties.ts';
import * as memory from '../../src/queue/memory.ts';
import { createMemoryQueue, type MessageQueue } from '../../src/queue/memory.ts';
import { readQueueOptions as readPostgresOptions } from '../../src/queue/postgres/options.ts';
import * as postgres from '../../src/queue/postgres.ts';
import type { Claim } from '../../src/queue/queue.ts';
import {
  readIncidentsOptions,
  readQueueOptions as readSqliteOptions,
} from '../../src/queue/sqlite/sqlite-options.ts';
import * as sqlite from '../../src/queue/sqlite.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { DEAD, DELIVERED, entryOf, INITIAL } from '../queue/conformance/trial.ts';
import { throughout, unchangedByPollution } from './law.ts';

const entries = [
  ...['a', 'b', 'c', 'd'].map((messageId) => entryOf('one', { messageId })),
  entryOf('two', { messageId: 'e' }),
];
const REQUEST = { ofHealth: ['healthy'], maxMessages: 3, maxBytes: 1e6, leaseMs: 1000 } as const;
const RETRY = { kind: 'retry', afterMs: 0, maxMessages: undefined, retryState: null } as const;
const STATE = { ...INITIAL, waitMs: 0, pauseMs: 0 };

/** Calls every method of a queue as a sender does, and returns the results. */
async function life(queue: MessageQueue) {
  const answers: unknown[] = [];
  const step = async <T>(does: Promise<T>): Promise<T> => {
    const answer = await does;
    answers.push(answer);
    return answer;
  };
  await step(queue.open(INITIAL));
  await step(queue.enqueue(entries));
  const first = (await step(queue.claim(REQUEST))) as Claim;
  await step(queue.extend(first, 5));
  await step(queue.settle(first, [DELIVERED, DEAD, RETRY], STATE));
  const second = (await step(queue.claim({ ...REQUEST, maxMessages: 1 }))) as Claim;
  await step(queue.release(second));
  await step(queue.settle(second, [DELIVERED], STATE));
  await step(queue.countPending([{ from: 0, to: 9 }]));
  await step(queue.deadLetterOlderThan(1e9, 10));
  await step(queue.deadLetterClosed('two', 10));
  await step(queue.reopenApplication('two'));
  await step(Promise.all(['one', 'two', 'evil'].map((id) => queue.applicationState(id))));
  await step(queue.listDeadLetters(ownProperties({ limit: 10 })));
  await step(queue.replayDeadLetters(ownProperties({ ids: ['b'] })));
  await step(queue.purgeDeadLetters(ownProperties({})));
  await step(queue.claim(REQUEST));
  await step(queue.stats());
  await step(queue.close());
  return answers;
}

unchangedByPollution(memory, {
  createMemoryQueue: [
    throughout('used for all that it can do', () => life(createMemoryQueue({}, createFakeClock()))),
    throughout('with an unknown option', () => createMemoryQueue({ evil: 1 } as never)),
  ],
});

const { createSqliteIncidents, createSqliteQueue } = sqlite;
const file = '/nowhere/queue.db';

// Their files and servers are beyond this process.
unchangedByPollution(sqlite, {
  createSqliteIncidents: [
    throughout('', () => [readIncidentsOptions({ file }), typeof createSqliteIncidents({ file })]),
    throughout('without a file', () => createSqliteIncidents({} as never)),
  ],
  createSqliteQueue: [
    throughout('', () => [readSqliteOptions({ file }), createSqliteQueue({ file }).durability]),
    throughout('without a file', () => createSqliteQueue({} as never)),
  ],
});

const { createPostgresIncidents, createPostgresQueue, createPostgresSchema } = postgres;
const connection = 'postgres://localhost';

unchangedByPollution(postgres, {
  createPostgresIncidents: [
    throughout('', () => typeof createPostgresIncidents({ connection })),
    throughout('without a connection', () => createPostgresIncidents({})),
  ],
  createPostgresQueue: [
    throughout('', () => [
      readPostgresOptions({ connection }).pool,
      createPostgresQueue({ connection }).durability,
    ]),
    throughout('without a connection', () => createPostgresQueue({})),
  ],
  createPostgresSchema: [throughout('without a connection', () => createPostgresSchema({}))],
});
