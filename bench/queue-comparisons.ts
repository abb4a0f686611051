/** The rows of the queues. */
import { type Comparison, side } from './comparison.ts';

const SUBJECT = new URL('./subjects/queue.mjs', import.meta.url);

/** The SQLite queue, compared with the memory queue. */
const queueing: readonly Comparison[] = [
  ...[1, 64, 1000].flatMap((callers) => {
    const accepting = {
      work: `accept a message a call, ${callers} at a time, each until it is on the disk`,
      subject: SUBJECT,
      operations: callers === 1 ? 5000 : 50_000,
      unit: 'messages/s' as const,
      ours: side('sqlite', `sqlite, ${callers} callers`),
    };
    const rival = side('memory', `memory, ${callers} callers`);
    const loop = side('a bare loop of transactions', `loop, ${callers} together`);
    return [
      { ...accepting, name: `queue-sqlite-${callers}`, rival },
      { ...accepting, name: `queue-sqlite-loop-${callers}`, rival: loop, goal: { ratio: 1.67 } },
    ];
  }),
  {
    name: 'queue-sqlite-shared',
    work: 'accept a message a call in two processes that share a file, 64 at a time in each',
    subject: SUBJECT,
    operations: 50_000,
    unit: 'messages/s',
    ours: side('two processes', 'sqlite, 2 processes'),
    rival: side('one process', 'sqlite, 1 processes'),
  },
  {
    name: 'queue-sqlite-drain',
    work: 'claim and settle 1,000,000 messages that wait, 16 claims at a time',
    subject: SUBJECT,
    operations: 1_000_000,
    unit: 'messages/s',
    ours: side('sqlite', 'sqlite, drained'),
    rival: side('memory', 'memory, drained'),
    runs: 7,
    showsMemory: true,
  },
  {
    name: 'queue-sqlite-start',
    work: 'open a file with 1,000,000 messages, up to the first claim, beside one with 1000',
    subject: SUBJECT,
    operations: 1_000_000,
    itemsPerOperation: 1e-6,
    unit: 'ms',
    ours: side('1,000,000 wait', 'sqlite, started'),
    rival: side('1000 wait', 'sqlite, started with little'),
    runs: 7,
    showsMemory: true,
    goal: { value: 100 },
  },
];

const onServer = { subject: SUBJECT, unit: 'messages/s', needsServer: true } as const;
const CALLERS = [1, 64, 1000];
const messagesOf = (callers: number): number => (callers === 1 ? 2000 : 20_000);
const WAITING_ON_SERVER = 100_000;

/** The PostgreSQL queue, compared with the cheapest transfer of the same bytes. */
const besideCopy: readonly Comparison[] = [
  ...CALLERS.map((callers) => ({
    ...onServer,
    name: `queue-postgres-${callers}`,
    work: `accept a message a call, ${callers} at a time, each until it is committed`,
    operations: messagesOf(callers),
    ours: side('postgres', `postgres, ${callers} callers`),
    rival: side(`COPY of ${callers}`, `copy, ${callers} together`),
    ...(callers === 1000 ? { goal: { ratio: 4 } } : {}),
  })),
  {
    ...onServer,
    name: 'queue-postgres-drain',
    work: 'claim and settle 100,000 messages that wait, 16 claims at a time',
    operations: WAITING_ON_SERVER,
    ours: side('postgres', 'postgres, drained'),
    rival: side('COPY out, which reads and ends nothing', 'copy, out'),
    runs: 7,
    goal: { ratio: 6.67 },
  },
  {
    ...onServer,
    name: 'queue-postgres-applications',
    work: 'accept 20,000 messages of 10,000 applications, then claim and settle them, two in a claim',
    operations: 20_000,
    ours: side('10,000 applications', 'postgres, 10000 applications'),
    rival: side('10 applications', 'postgres, 10 applications'),
    goal: { ratio: 1.3 },
  },
];

const besideMemory: readonly Comparison[] = [
  ...CALLERS.map((callers) => ({
    ...onServer,
    name: `queue-server-${callers}`,
    work: `accept a message a call, ${callers} at a time, each until it is committed`,
    operations: messagesOf(callers),
    ours: side('postgres', `postgres, ${callers} callers`),
    rival: side('memory', `memory, ${callers} callers`),
  })),
  {
    ...onServer,
    name: 'queue-server-drain',
    work: 'claim and settle 100,000 messages that wait, 16 claims at a time',
    operations: WAITING_ON_SERVER,
    ours: side('postgres', 'postgres, drained'),
    rival: side('memory', 'memory, drained'),
    runs: 7,
  },
];

export const QUEUE_COMPARISONS: readonly Comparison[] = [
  ...queueing,
  ...besideCopy,
  ...besideMemory,
];
