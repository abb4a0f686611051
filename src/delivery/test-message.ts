/** The message that `sendTest` sends (D30). */
import { formatTimestamp, type MessageToStore } from '../webhook/encoder.ts';

export interface TestSubject {
  readonly applicationId: string;
  readonly name: string;
  readonly environment: string;
  readonly id: string;
  readonly now: number;
}

export function testMessage(subject: TestSubject): MessageToStore {
  const { applicationId, name, environment, id, now } = subject;
  return {
    message_id: id,
    message_type: 'test',
    message: {
      application_id: applicationId,
      application_name: name,
      environment,
      id,
      event_category: 'test',
      event_kind: 'test_kind',
      date_occurred: formatTimestamp(now),
      humanized_description: 'A test of the webhook. Nothing happened.',
      // D46
      url: `urn:uuid:${id}`,
      ips: [],
    },
  };
}
