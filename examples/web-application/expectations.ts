/** What must have arrived at each end when the visitors have left, application by application. */
import type { LogRecordInput, ReporterStats } from 'security-event-delivery';
import type { ReceiverReport } from './receiver.ts';
import { type Counts, compare, countWords, type Line } from './summary.ts';

export interface Expected {
  readonly records: Counts;
  readonly messages: Counts;
  readonly skipped: Counts;
}

export const SHOP_EXPECTED: Expected = {
  records: {
    'svc.ev0.threat.attack': 2,
    'svc.ev0.threat.vulnerability_exploit': 1,
    'svc.ev0.incident create': 1,
    'svc.ev0.incident update': 1,
    'svc.ev0.playbook_trigger': 1,
    'svc.ev0.user_event.signup': 1,
    'svc.ev0.user_event.login': 1,
    'svc.ev0.custom_event': 1,
  },
  messages: { security_event: 3, injection_sql: 2, security_response: 1 },
  // What users do has no message on channel B.
  skipped: { 'log-only': 3 },
};

export const WAREHOUSE_EXPECTED: Expected = {
  records: {
    'svc.ev0.threat.attack': 2,
    'svc.ev0.threat.vulnerability_exploit': 1,
    'svc.ev0.incident create': 1,
    'svc.ev0.incident update': 1,
    'svc.ev0.playbook_trigger': 1,
    'svc.ev0.user_event.login': 1,
  },
  messages: { security_event: 2, pulse: 1 },
  skipped: {
    'log-only': 1,
    // By the settings: neither this module nor this playbook is wanted.
    'module-not-selected': 1,
    'playbook-not-selected': 1,
    // By the format, which is told of new incidents alone.
    'v1-incident-update': 1,
  },
};

/** What was found at both ends of one application. */
export interface Arrived {
  readonly written: readonly LogRecordInput[];
  readonly stats: ReporterStats;
  readonly receiver: ReceiverReport;
  readonly undelivered: number;
}

/** Tables by title. */
export function compareWithExpected(expected: Expected, arrived: Arrived): Record<string, Line[]> {
  const { written, stats, receiver } = arrived;
  const types = receiver.accepted.map(({ type }) => type);
  return {
    'channel A, records': compare(expected.records, countWords(written.map(nameOf))),
    'channel B, messages': compare(expected.messages, countWords(types)),
    'channel B, delivery': compareDelivery(arrived),
    'channel B, not to be sent': compare(expected.skipped, stats.skipped),
  };
}

/** The first request was refused: its messages, however many they are, must have come once more. */
function compareDelivery({ receiver, undelivered }: Arrived): Line[] {
  const { accepted, refused, refusedSignatures, refusedBodies } = receiver;
  const again = accepted.filter(({ id }) => refused.includes(id));
  // Format 1 does not tell how often a message was sent before.
  const isWrong = ({ id, retryCount }: (typeof accepted)[number]) =>
    retryCount !== undefined && retryCount !== (refused.includes(id) ? 1 : 0);
  return [
    { what: 'requests refused at first', expected: 1, arrived: Math.min(refused.length, 1) },
    { what: 'messages sent once more', expected: refused.length, arrived: again.length },
    {
      what: 'messages of another retry_count',
      expected: 0,
      arrived: accepted.filter(isWrong).length,
    },
    { what: 'messages undelivered', expected: 0, arrived: undelivered },
    { what: 'requests with a bad signature', expected: 0, arrived: refusedSignatures },
    { what: 'requests with a bad body', expected: 0, arrived: refusedBodies },
  ];
}

const nameOf = ({ event_name, payload }: LogRecordInput): string =>
  event_name === 'svc.ev0.incident' ? `${event_name} ${payload.event_type}` : event_name;
