/** What must have arrived at each end when the visitors have left. */
import type { SendReport } from 'security-event-delivery';
import type { LogRecordInput } from 'security-event-delivery/contract';
import type { ReceiverReport } from './receiver.ts';
import { compare, countWords, type Line } from './summary.ts';

const EXPECTED_RECORDS = {
  'svc.ev0.threat.attack': 2,
  'svc.ev0.threat.vulnerability_exploit': 1,
  'svc.ev0.incident create': 1,
  'svc.ev0.incident update': 1,
  'svc.ev0.playbook_trigger': 1,
  'svc.ev0.user_event.signup': 1,
  'svc.ev0.user_event.login': 1,
  'svc.ev0.custom_event': 1,
};
const EXPECTED_MESSAGES = { security_event: 3, injection_sql: 2, security_response: 1 };
const EXPECTED_DELIVERY = {
  'requests answered with 503': 1,
  'messages with retry_count 1': 1,
  'messages with retry_count above 1': 0,
  'messages undelivered': 0,
  'requests with a bad signature': 0,
  'requests with a bad body': 0,
};

interface Arrived {
  readonly written: readonly LogRecordInput[];
  readonly reports: readonly SendReport[];
  readonly receiverReport: ReceiverReport;
}

/** Tables by title. */
export function compareWithExpected(arrived: Arrived): Record<string, readonly Line[]> {
  const { accepted } = arrived.receiverReport;
  return {
    'Channel A: records': compare(EXPECTED_RECORDS, countWords(arrived.written.map(nameOf))),
    'Channel B: messages': compare(
      EXPECTED_MESSAGES,
      countWords(accepted.map(({ messageType }) => messageType)),
    ),
    'Channel B: delivery': compare(EXPECTED_DELIVERY, countDelivery(arrived)),
  };
}

function countDelivery({ reports, receiverReport }: Arrived): typeof EXPECTED_DELIVERY {
  const { accepted, refusedSignatures, refusedBodies } = receiverReport;
  const statuses = reports.flatMap(({ requests }) => requests.map(({ status }) => status));
  return {
    'requests answered with 503': statuses.filter((status) => status === 503).length,
    'messages with retry_count 1': accepted.filter(({ retryCount }) => retryCount === 1).length,
    'messages with retry_count above 1': accepted.filter(({ retryCount }) => retryCount > 1).length,
    'messages undelivered': reports.flatMap(({ undelivered }) => undelivered).length,
    'requests with a bad signature': refusedSignatures,
    'requests with a bad body': refusedBodies,
  };
}

const nameOf = ({ event_name, payload }: LogRecordInput): string =>
  event_name === 'svc.ev0.incident' ? `${event_name} ${payload.event_type}` : event_name;
