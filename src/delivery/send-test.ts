/** `sendTest`: one `test` message, really sent, once and past the queue (D30, D61). */
import type { Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import { downgrade } from '../projection/downgrade.ts';
import type { StoredMessage } from '../queue/queue.ts';
import type { ResolvedApplication } from '../settings/source.ts';
import { Backlog } from '../webhook/backlog.ts';
import { type DirectSending, sendAll } from '../webhook/direct-sending.ts';
import { formatTimestamp, storeV1, storeV2 } from '../webhook/encoder.ts';
import type { SendReport } from '../webhook/report.ts';
import { type FindApplication, findDestination, type MissingDestination } from './attempt.ts';
import { testMessage } from './test-message.ts';

type Wire = Pick<DirectSending, 'poster' | 'clock' | 'headers' | 'signal'>;

export interface TestParts extends Wire {
  readonly find: FindApplication;
  readonly newId: () => string;
  readonly maxBodyBytes: number;
  readonly dialect: Dialect;
  readonly v1Aliases: boolean;
}

const WHY_MISSING: Readonly<Record<MissingDestination, string>> = {
  unknown: 'the settings have no URL and secret for it',
  unusable: 'its URL or its secret cannot be used',
  failed: 'asking for its URL and secret failed, or took too long',
};

/** @throws SecurityEventError `ERR_UNKNOWN_APPLICATION` */
export async function sendTestMessage(
  applicationId: string,
  parts: TestParts,
): Promise<SendReport> {
  const destination = await findDestination(applicationId, parts.find, parts);
  if (typeof destination === 'string') {
    const detail = WHY_MISSING[destination];
    throw new SecurityEventError('ERR_UNKNOWN_APPLICATION', { detail, path: ['applicationId'] });
  }
  const { url, secret, tls, application } = destination;
  const message = {
    index: 0,
    application: applicationId,
    stored: stored(applicationId, application, parts),
  };
  const backlog = new Backlog({
    messages: [message],
    schedule: { delaysMs: [] },
    maxBodyBytes: parts.maxBodyBytes,
    acceptedAt: parts.clock.monotonicMs(),
    // Nothing is sent a second time, so nothing is left to chance.
    random: () => 0,
  });
  return await sendAll({ ...parts, url, secret, tls, backlog });
}

function stored(
  applicationId: string,
  { name, environment, format }: ResolvedApplication,
  { newId, clock, dialect, v1Aliases }: TestParts,
): StoredMessage {
  const now = clock.now();
  const message = testMessage({ applicationId, name, environment, id: newId(), now });
  if (format !== 1) return storeV2(message);
  const application = { name, environment };
  const context = { application, acceptedAt: formatTimestamp(now), dialect, v1Aliases };
  const v1 = downgrade(message, context);
  return v1.kind === 'element' ? storeV1(message.message_id, v1.element) : storeV2(message);
}
