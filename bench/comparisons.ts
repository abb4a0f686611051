/** What is measured: one row for each line of the table. */

const SUBJECTS = {
  capture: new URL('./subjects/capture.mjs', import.meta.url),
  check: new URL('./subjects/check.mjs', import.meta.url),
  deliver: new URL('./subjects/deliver.mjs', import.meta.url),
  encode: new URL('./subjects/encode.mjs', import.meta.url),
  load: new URL('./subjects/load.mjs', import.meta.url),
  queue: new URL('./subjects/queue.mjs', import.meta.url),
  send: new URL('./subjects/send.mjs', import.meta.url),
  write: new URL('./subjects/write.mjs', import.meta.url),
} as const;

/** How a row's time is told. */
export type Unit =
  | 'µs per record'
  | 'µs per message'
  | 'µs per request'
  | 'messages/s'
  | 'ms per call'
  | 'ms per message'
  | 'ms';

export interface Side {
  readonly label: string;
  /** Its name in the subject's `sides`. */
  readonly side: string;
}

export interface Comparison {
  /** For `--only`. */
  readonly name: string;
  readonly work: string;
  /** The file that does the work. */
  readonly subject: URL;
  readonly ours: Side;
  readonly rival: Side;
  /** Times the subject does its work in one sample, and how many items of the unit that makes. */
  readonly operations: number;
  readonly itemsPerOperation?: number;
  readonly unit: Unit;
  /** Samples of each side, where they are not the usual ones. */
  readonly runs?: number;
  /** Whether the resident memory that the work added is told. */
  readonly tellsMemory?: true;
}

export const USUAL_RUNS = 9;
const IMPORT_RUNS = 21;

/** The same for both sides of a row, whichever is faster. */
const RECORDS = 50_000;
const REQUESTS = 200;

const toNothing = { subject: SUBJECTS.write, operations: RECORDS, unit: 'µs per record' } as const;
const importing = {
  subject: SUBJECTS.load,
  operations: 1,
  unit: 'ms',
  runs: IMPORT_RUNS,
  tellsMemory: true,
} as const;
const encoding = {
  subject: SUBJECTS.encode,
  operations: REQUESTS,
  itemsPerOperation: 1000,
  unit: 'µs per message',
} as const;

const side = (label: string, name: string = label): Side => ({ label, side: name });

const CAPTURED_REQUESTS = 20_000;

/** Names of hosts in rows and in the subject. */
const HOSTS = [
  ['node-http', 'node:http'],
  ['express', 'express'],
  ['fastify', 'fastify'],
  ['hono', 'hono'],
] as const;

/** Serving a request, all but the network. pino-http writes a line for each. */
const capturing = HOSTS.flatMap(([row, host]): Comparison[] => {
  const common = {
    subject: SUBJECTS.capture,
    operations: CAPTURED_REQUESTS,
    unit: 'µs per request',
  } as const;
  const quiet = side('captured', `${host}, nothing happens`);
  const eventful = side('captured', `${host}, one event`);
  const bare = side('bare', `${host}, bare`);
  return [
    {
      ...common,
      name: `capture-${row}`,
      work: `serve a request by ${host}, nothing happens in it`,
      ours: quiet,
      rival: bare,
    },
    {
      ...common,
      name: `capture-${row}-event`,
      work: 'the same, and the context is read for one event',
      ours: eventful,
      rival: bare,
    },
    {
      ...common,
      name: `capture-${row}-pino`,
      work: 'the same beside pino-http, which logs each request',
      ours: eventful,
      rival: side('pino-http', `${host}, pino-http`),
    },
  ];
});

/** The queue in a folder beside the one in memory, which keeps nothing. */
const queueing: readonly Comparison[] = [
  ...[1, 64, 1000].map((callers) => ({
    name: `queue-level-${callers}`,
    work: `accept a message a call, ${callers} at a time, each until it is on the disk`,
    subject: SUBJECTS.queue,
    operations: callers === 1 ? 5000 : 50_000,
    unit: 'messages/s' as const,
    ours: side('level', `level, ${callers} callers`),
    rival: side('memory', `memory, ${callers} callers`),
  })),
  {
    name: 'queue-level-drain',
    work: 'claim and settle 1,000,000 messages that wait, 16 claims at a time',
    subject: SUBJECTS.queue,
    operations: 1_000_000,
    unit: 'messages/s',
    ours: side('level', 'level, drained'),
    rival: side('memory', 'memory, drained'),
    runs: 7,
    tellsMemory: true,
  },
  {
    name: 'queue-level-start',
    work: 'open a folder with 1,000,000 messages, up to the first claim, beside one with 1000',
    subject: SUBJECTS.queue,
    operations: 1_000_000,
    itemsPerOperation: 1e-6,
    unit: 'ms',
    ours: side('1,000,000 wait', 'level, started'),
    rival: side('1000 wait', 'level, started with little'),
    runs: 7,
    tellsMemory: true,
  },
];

const WRITER = side('writer', 'ours to nothing');
const FILE_WRITER = side('writer', 'ours to a file');
const BUFFERED_WRITER = side('writer, `sync: false`', 'ours later to a file');

const COMPARISONS: readonly Comparison[] = [
  {
    name: 'write-pino',
    work: 'validate and write a record to nothing, beside bare pino',
    ...toNothing,
    ours: WRITER,
    rival: side('pino', 'pino to nothing'),
  },
  {
    name: 'write-winston',
    work: 'validate and write a record to nothing, beside winston',
    ...toNothing,
    ours: WRITER,
    rival: side('winston', 'winston to nothing'),
  },
  {
    name: 'write-unchecked',
    work: 'write a record to nothing with `validate: false`, beside bare pino',
    ...toNothing,
    ours: side('writer, `validate: false`', 'ours unchecked to nothing'),
    rival: side('pino', 'pino to nothing'),
  },
  {
    name: 'file-pino',
    work: 'validate and write a record to a file, synchronously',
    ...toNothing,
    ours: FILE_WRITER,
    rival: side('pino, `sync: true`', 'pino to a file'),
  },
  {
    name: 'file-unchecked',
    work: 'the same with `validate: false`',
    ...toNothing,
    ours: side('writer, `validate: false`', 'ours unchecked to a file'),
    rival: side('pino, `sync: true`', 'pino to a file'),
  },
  {
    name: 'file-later-pino',
    work: 'validate and write a record to a file in the background',
    ...toNothing,
    ours: BUFFERED_WRITER,
    rival: side('pino, `sync: false`', 'pino later to a file'),
  },
  {
    name: 'file-later-winston',
    work: 'the same beside winston, which cannot write synchronously',
    ...toNothing,
    ours: BUFFERED_WRITER,
    rival: side('winston', 'winston to a file'),
  },
  {
    name: 'send',
    work: 'validate, sign and send 100,000 messages, 1000 in a request',
    subject: SUBJECTS.send,
    operations: 100_000,
    unit: 'messages/s',
    ours: side('`sendWebhook`', 'ours'),
    rival: side('plain loop'),
  },
  {
    name: 'send-singly',
    work: 'one call for each message',
    subject: SUBJECTS.send,
    operations: 500,
    unit: 'ms per call',
    ours: side('`sendWebhook`', 'ours singly'),
    rival: side('plain loop', 'plain loop singly'),
  },
  {
    name: 'isolation-throughput',
    work: '160 healthy destinations of 200: 20 others never answer, 20 answer 500',
    subject: SUBJECTS.deliver,
    operations: 40_000,
    unit: 'messages/s',
    ours: side('some failing', 'throughput, some failing'),
    rival: side('all well', 'throughput, all well'),
  },
  {
    name: 'isolation-latency',
    work: 'the same at 500 messages/s: 99th percentile from `send` to arrival at the healthy',
    subject: SUBJECTS.deliver,
    operations: 500,
    unit: 'ms per message',
    ours: side('some failing', 'latency, some failing'),
    rival: side('all well', 'latency, all well'),
  },
  {
    name: 'import-contract',
    work: 'first import of `security-event-delivery/contract`',
    ...importing,
    ours: side('contract', 'our contract'),
    rival: side('zod'),
  },
  {
    name: 'import-writer',
    work: 'first import of the log writer alone (`dist/log/writer.js`)',
    ...importing,
    ours: side('writer', 'our writer'),
    rival: side('pino, zod', 'pino and zod'),
  },
  {
    name: 'import-root',
    work: 'first import of `security-event-delivery`, the writer and the sender',
    ...importing,
    ours: side('root entry', 'our root entry'),
    rival: side('zod, pino, uuid', 'zod, pino and uuid'),
  },
  {
    name: 'check',
    work: '`LogRecord.safeParse` of a record, beside ajv with our JSON Schema',
    subject: SUBJECTS.check,
    operations: RECORDS,
    unit: 'µs per record',
    ours: side('contract', 'ours'),
    rival: side('ajv'),
  },
  {
    name: 'accept',
    work: 'validate, identify and serialise messages, beside serialising alone',
    ...encoding,
    ours: side('`acceptMessages`', 'ours, accepting'),
    rival: side('`JSON.stringify`', 'plain envelopes'),
  },
  {
    name: 'encode-sign',
    work: 'make and sign the body of 1000 accepted messages, as each attempt does',
    ...encoding,
    ours: side('`encodeBody`, `sign`', 'ours, encoding and signing'),
    rival: side('`JSON.stringify`, HMAC', 'plain encoding and signing'),
  },
  ...capturing,
  ...queueing,
];

/** The rows whose names are, or begin with, one of `prefixes`; all of them where there is none. */
export function selectComparisons(prefixes: readonly string[]): readonly Comparison[] {
  const isNamed = (prefix: string) => COMPARISONS.some(({ name }) => name.startsWith(prefix));
  const unknown = prefixes.find((prefix) => !isNamed(prefix));
  if (unknown !== undefined) {
    const names = COMPARISONS.map(({ name }) => name).join(', ');
    throw new Error(`No row is called ${unknown}. There are: ${names}`);
  }
  if (prefixes.length === 0) return COMPARISONS;
  return COMPARISONS.filter(({ name }) => prefixes.some((prefix) => name.startsWith(prefix)));
}
