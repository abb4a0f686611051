/** The rows of sending messages. */
import { type Comparison, side } from './comparison.ts';

const SUBJECTS = {
  blackHoles: new URL('./subjects/black-holes.mjs', import.meta.url),
  destinations: new URL('./subjects/destinations.mjs', import.meta.url),
  rivals: new URL('./subjects/rivals.mjs', import.meta.url),
  running: new URL('./subjects/running.mjs', import.meta.url),
  send: new URL('./subjects/send.mjs', import.meta.url),
} as const;

const MESSAGES = 200_000;

const sending = { subject: SUBJECTS.send, operations: 100_000, unit: 'messages/s' } as const;

const atOnce: readonly Comparison[] = [
  {
    ...sending,
    name: 'send',
    work: 'validate, sign and send 100,000 messages, 1000 in a request',
    ours: side('`sendWebhook`', 'ours'),
    rival: side('plain loop'),
  },
  {
    ...sending,
    name: 'send-singly',
    work: 'one call for each message',
    operations: 500,
    unit: 'ms per call',
    ours: side('`sendWebhook`', 'ours singly'),
    rival: side('plain loop', 'plain loop singly'),
  },
];

const delivering = {
  subject: SUBJECTS.rivals,
  operations: MESSAGES,
  unit: 'messages/s',
  ours: side('sender', 'ours, memory'),
} as const;

/** Rivals, and their number of events in a sample of about a second. */
const EVENT_SENDERS = [
  ['winston', 'winston http', 40_000],
  ['posthog', 'posthog-node', 20_000],
  ['segment', 'analytics-node', 10_000],
  ['fetch', 'a fetch per event', 4000],
] as const;

const untilDelivered: readonly Comparison[] = [
  {
    ...delivering,
    name: 'deliver-loop',
    work: '`sender.send` of 200,000 messages until all are delivered: validated, queued, signed',
    rival: side('bare loop'),
    goal: { ratio: 1, cpuRatio: 1.25 },
  },
  ...EVENT_SENDERS.map(([row, rival, operations]) => ({
    ...delivering,
    operations: MESSAGES / 2,
    name: `deliver-${row}`,
    work: `the same beside ${rival}`,
    rival: { ...side(rival), operations },
    goal: { ratio: 0.25 },
  })),
  {
    ...delivering,
    name: 'deliver-metrics',
    work: 'the same with OpenTelemetry metrics, collected each second',
    ours: side('metrics', 'ours, metrics'),
    rival: side('none', 'ours, memory'),
    goal: { ratio: 1.03 },
  },
  {
    ...delivering,
    name: 'deliver-sqlite',
    work: '100,000 messages, each call resolved when they are on the disk, until all are delivered',
    operations: 100_000,
    ours: side('sqlite', 'ours, sqlite'),
    rival: side('memory', 'ours, memory'),
    goal: { ratio: 3.33 },
  },
];

const toMany = (form: string): Pick<Comparison, 'subject' | 'unit' | 'ours' | 'rival'> => ({
  subject: SUBJECTS.destinations,
  unit: 'messages/s',
  ours: side('sender', `sender, ${form}`),
  rival: side('bare loop', `bare loop, ${form}`),
});

/** Name, origins, applications and work of each row. */
const ONE_MESSAGE_EACH = [
  ['destinations-1', '1 origin', 4000, 'one message for each of 4,000 applications at 1 origin'],
  ['destinations-200', '200 origins', 4000, 'the same at 200 origins'],
  ['destinations-20000', '1 origin', 20_000, 'one message for each of 20,000 at 1 origin'],
  ['destinations-20000-200', '200 origins', 20_000, 'the same at 200 origins'],
] as const;

const manyDestinations: readonly Comparison[] = [
  ...ONE_MESSAGE_EACH.map(([name, origins, operations, work]) => ({
    ...toMany(origins),
    name,
    work: `${work}, until all are delivered`,
    operations,
    goal: { ratio: 1.25, cpuRatio: 1.6 },
  })),
  {
    ...toMany('10 messages each, twice'),
    name: 'destinations-10-each',
    work: '10 messages for each of 4,000 applications at 1 origin, until all are delivered, twice',
    operations: 80_000,
    goal: { ratio: 1.25 },
  },
  {
    ...toMany('TLS'),
    name: 'destinations-tls',
    work: 'one message for each of 4,000 applications at 1 origin over TLS, until all are delivered',
    operations: 4000,
    goal: { ratio: 1.25 },
  },
];

const HEALTHY = 9000;

const p99OfHealthy = (queue: string) => side(queue, `${queue}, p99 with black holes`);

/** 9,000 healthy applications and 1,000 black holes. */
const blackHoles: readonly Comparison[] = [
  {
    subject: SUBJECTS.blackHoles,
    operations: HEALTHY,
    unit: 'ms',
    name: 'black-holes-latency',
    work: 'one message for each of 9,000 applications beside 1,000 that never answer: 99th percentile from `send` to arrival',
    ours: side('with black holes', 'memory, p99 with black holes'),
    rival: side('without', 'memory, p99 without'),
    goal: { ratio: 1.5 },
  },
  {
    subject: SUBJECTS.blackHoles,
    operations: HEALTHY,
    unit: 'messages/s',
    name: 'black-holes-throughput',
    work: 'the same until the last of the 9,000 has its message',
    ours: side('with black holes', 'memory, all with black holes'),
    rival: side('without', 'memory, all without'),
    goal: { ratio: 1.25 },
  },
  ...['sqlite', 'postgres'].map((queue) => ({
    subject: SUBJECTS.blackHoles,
    operations: HEALTHY,
    unit: 'ms' as const,
    name: `black-holes-${queue}`,
    work: `99th percentile as above, beside 1,000 that never answer, from ${queue} and from memory`,
    ours: p99OfHealthy(queue),
    rival: p99OfHealthy('memory'),
    goal: { ratio: 2 },
    ...(queue === 'postgres' ? { needsServer: true as const } : {}),
  })),
];

const running: readonly Comparison[] = [
  {
    subject: SUBJECTS.running,
    operations: 1_000_000,
    unit: 'MB',
    name: 'heap',
    work: 'heap in use, after a million delivered messages and after a tenth of them',
    ours: side('after 1,000,000', 'heap after many'),
    rival: { ...side('after 100,000', 'heap after many'), operations: 100_000 },
    goal: { difference: 2 },
    runs: 7,
  },
  {
    subject: SUBJECTS.running,
    operations: 100_000,
    unit: 'ms',
    name: 'loop-delay',
    work: '99th percentile of the delay of the event loop, 500 messages sent every 10 ms, and idle',
    ours: side('50,000 messages/s', 'loop delay, sending'),
    rival: side('idle', 'loop delay, idle'),
    goal: { difference: 10 },
  },
];

export const SENDING_COMPARISONS: readonly Comparison[] = [
  ...atOnce,
  ...untilDelivered,
  ...manyDestinations,
  ...blackHoles,
  ...running,
];
