/** The rows of sending messages. */
import { above, type Comparison, side, throughput } from './comparison.ts';

const SUBJECTS = {
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

/** Rivals, and of how many events a sample of theirs is: as many as take about a second. */
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
    goal: throughput(0.8, 1),
  },
  ...EVENT_SENDERS.map(([row, rival, operations]) => ({
    ...delivering,
    operations: MESSAGES / 2,
    name: `deliver-${row}`,
    work: `the same beside ${rival}`,
    rival: { ...side(rival), operations },
    goal: throughput(4),
  })),
  {
    ...delivering,
    name: 'deliver-metrics',
    work: 'the same with OpenTelemetry metrics, collected each second',
    ours: side('metrics', 'ours, metrics'),
    rival: side('none', 'ours, memory'),
    goal: throughput(0.97),
  },
  {
    ...delivering,
    name: 'deliver-sqlite',
    work: '100,000 messages, each call resolved when they are on the disk, until all are delivered',
    operations: 100_000,
    ours: side('sqlite', 'ours, sqlite'),
    rival: side('memory', 'ours, memory'),
    goal: throughput(0.3),
  },
];

const manyDestinations = [1, 200].map((origins): Comparison => {
  const at = origins === 1 ? '1 origin' : `${origins} origins`;
  return {
    subject: SUBJECTS.destinations,
    operations: 4000,
    unit: 'messages/s',
    name: `destinations-${origins}`,
    work: `one message for each of 4,000 applications at ${at}, until all are delivered`,
    ours: side('sender', `sender, ${at}`),
    rival: side('bare loop', `bare loop, ${at}`),
    goal: throughput(0.8),
  };
});

const running: readonly Comparison[] = [
  {
    subject: SUBJECTS.running,
    operations: 1_000_000,
    unit: 'MB',
    name: 'heap',
    work: 'heap in use, after a million delivered messages and after a tenth of them',
    ours: side('after 1,000,000', 'heap after many'),
    rival: { ...side('after 100,000', 'heap after many'), operations: 100_000 },
    goal: above(2, 'MB'),
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
    goal: above(10, 'ms'),
  },
];

export const SENDING_COMPARISONS: readonly Comparison[] = [
  ...atOnce,
  ...untilDelivered,
  ...manyDestinations,
  ...running,
];
