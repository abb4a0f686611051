/** `sendTest`: sends one `test` message to the receiver, once and without the queue (D30, D61). */
import type { Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import { downgrade } from '../projection/downgrade.ts';
import type { StoredMessage } from '../queue/queue.ts';
import type { ResolvedApplication } from '../settings/source.ts';
import { AcceptedEntry } from '../webhook/accept.ts';
import {
  formatTimestamp,
  type MessageToStore,
  toStoredV1,
  toStoredV2,
} from '../webhook/encoder.ts';
import type { AttemptParts } from './attempt.ts';
import { type Destinations, isUnresolved, type Unresolved } from './destination.ts';
import { directPolicy, sendDirectly } from './direct-sending.ts';
import type { SendReport } from './report.ts';
import { DEFAULT_POLICY, directSchedule } from './retry-policy.ts';

export interface TestParts extends AttemptParts {
  readonly destinations: Destinations;
  readonly newId: () => string;
  readonly maxBodyBytes: number;
  readonly dialect: Dialect;
  readonly v1Aliases: boolean;
}

const WHY_UNRESOLVED: Readonly<Record<Unresolved['because'], string>> = {
  unknown: 'the settings have no URL and secret for it',
  unusable: 'its settings are not usable',
  disabled: 'its settings have `enabled: false`',
  failed: 'asking for its URL and secret failed, or took too long',
};

/** @throws SecurityEventError `ERR_UNKNOWN_APPLICATION` */
export async function sendTestMessage(
  applicationId: string,
  parts: TestParts,
): Promise<SendReport> {
  const destination = await parts.destinations.resolve(applicationId);
  if (isUnresolved(destination)) {
    const { because, detail = WHY_UNRESOLVED[because] } = destination;
    throw new SecurityEventError('ERR_UNKNOWN_APPLICATION', { detail, path: ['applicationId'] });
  }
  const { application } = destination;
  const place = { index: 0, applicationId };
  const entry = new AcceptedEntry(place, toStoredTestMessage(applicationId, application, parts), 0);
  const schedule = directSchedule({ delaysMs: [] });
  const { maxBodyBytes } = parts;
  return await sendDirectly({
    ...parts,
    destination,
    entries: [entry],
    policy: directPolicy({ ...DEFAULT_POLICY, schedule, maxBodyBytes }),
    // Has no effect: without a retry there is no wait to vary.
    random: () => 0,
  });
}

function toStoredTestMessage(
  applicationId: string,
  { name = applicationId, environment = '', format }: ResolvedApplication,
  { newId, clock, dialect, v1Aliases }: TestParts,
): StoredMessage {
  const now = clock.now();
  const message = testMessage({ applicationId, name, environment, id: newId(), now });
  if (format !== 1) return toStoredV2(message);
  const application = { name, environment };
  const context = { application, acceptedAt: formatTimestamp(now), dialect, v1Aliases };
  const v1 = downgrade(message, context);
  return typeof v1 === 'string' ? toStoredV2(message) : toStoredV1(message.message_id, v1);
}

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
