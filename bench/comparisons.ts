/** The rows of the table. */
import { type Comparison, side } from './comparison.ts';
import { QUEUE_COMPARISONS } from './queue-comparisons.ts';
import { SENDING_COMPARISONS } from './sending-comparisons.ts';
import { WRITING_COMPARISONS } from './writing-comparisons.ts';

const SUBJECTS = {
  capture: new URL('./subjects/capture.mjs', import.meta.url),
  check: new URL('./subjects/check.mjs', import.meta.url),
  deliver: new URL('./subjects/deliver.mjs', import.meta.url),
  encode: new URL('./subjects/encode.mjs', import.meta.url),
  load: new URL('./subjects/load.mjs', import.meta.url),
  validate: new URL('./subjects/validate.mjs', import.meta.url),
} as const;

export const USUAL_RUNS = 9;
const IMPORT_RUNS = 21;

/** Operations in a sample. */
const RECORDS = 50_000;
const REQUESTS = 200;

const importing = {
  subject: SUBJECTS.load,
  operations: 1,
  unit: 'ms',
  runs: IMPORT_RUNS,
  showsMemory: true,
} as const;
const encoding = {
  subject: SUBJECTS.encode,
  operations: REQUESTS,
  itemsPerOperation: 1000,
  unit: 'µs per message',
} as const;
const validating = {
  subject: SUBJECTS.validate,
  operations: RECORDS,
  unit: 'µs per record',
  showsMemory: true,
} as const;

const CAPTURED_REQUESTS = 20_000;

/** Names of hosts in rows and in the subject. */
const HOSTS = [
  ['node-http', 'node:http'],
  ['express', 'express'],
  ['fastify', 'fastify'],
  ['hono', 'hono'],
] as const;

/** Rows that serve requests without a network. pino-http writes a line per request. */
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

const COMPARISONS: readonly Comparison[] = [
  ...WRITING_COMPARISONS,
  ...SENDING_COMPARISONS,
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
    goal: { ratio: 1.25 },
  },
  {
    name: 'import-writer',
    work: 'first import of the log writer alone (`dist/log/writer.js`)',
    ...importing,
    ours: side('writer', 'our writer'),
    rival: side('pino, zod', 'pino and zod'),
    goal: { ratio: 1.25 },
  },
  {
    name: 'import-root',
    work: 'first import of `security-event-delivery`, the writer and the sender',
    ...importing,
    ours: side('root entry', 'our root entry'),
    rival: side('zod, pino, uuid', 'zod, pino and uuid'),
    goal: { ratio: 1.25 },
  },
  {
    name: 'check',
    work: '`LogRecord.safeParse` of a record, beside ajv with our JSON Schema',
    subject: SUBJECTS.check,
    operations: RECORDS,
    unit: 'µs per record',
    ours: side('contract', 'ours'),
    rival: side('ajv'),
    goal: { ratio: 1 },
  },
  {
    name: 'validate-lines',
    work: '`security-events validate` of a file, a record a line, beside parsing it alone',
    ...validating,
    ours: side('`validate`', 'ours, lines'),
    rival: side('`JSON.parse` of each line', 'JSON.parse, lines'),
  },
  {
    name: 'validate-array',
    work: 'the same records as elements of one array on one line',
    ...validating,
    ours: side('`validate`', 'ours, an array'),
    rival: side('`JSON.parse` of the whole', 'JSON.parse, an array'),
  },
  {
    name: 'accept',
    work: 'validate, identify and serialise messages, beside serialising alone',
    ...encoding,
    ours: side('`readEntries`', 'ours, accepting'),
    rival: side('`JSON.stringify`', 'plain envelopes'),
  },
  {
    name: 'encode-sign',
    work: 'make and sign the body of 1000 accepted messages, as each attempt does',
    ...encoding,
    ours: side('`encodeBody`, `sign`', 'ours, encoding and signing'),
    rival: side('`JSON.stringify`, HMAC', 'plain encoding and signing'),
    goal: { cpuRatio: 0.6 },
  },
  ...capturing,
  ...QUEUE_COMPARISONS,
];

/** Returns the rows whose names begin with one of `prefixes`, or all rows without prefixes. */
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
