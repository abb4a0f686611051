/** Sends one `test` message to a destination that may not be saved. */
import { createWebhookSender } from '../../delivery/create-sender.ts';
import type { DeliveryOptions } from '../../delivery/options.ts';
import { readSenderOptions } from '../../delivery/read-options.ts';
import type { SendReport } from '../../delivery/report.ts';
import { secretAt } from '../scheduled-secret.ts';
import type { OrganisedApplication } from '../schema.ts';
import type { StoredSettings } from '../stored-settings.ts';
import { draftOf, findSaved, unknown } from './changes.ts';

/** Use the options of the sender that will deliver, so that the test proves the same path. */
export type TestOptions = Pick<
  DeliveryOptions<'open'>,
  'deadlineMs' | 'dispatcher' | 'headers' | 'network' | 'userAgent' | 'v1Aliases'
>;

/** Validates the options before the first test. @throws SecurityEventError `ERR_INVALID_OPTION` */
export function checkTestOptions(options: TestOptions): void {
  readSenderOptions({ ...options, settings: () => undefined });
}

export async function testDestination(
  applicationId: string,
  application: OrganisedApplication,
  options: TestOptions,
): Promise<SendReport> {
  const settings = (): OrganisedApplication => application;
  const sender = createWebhookSender<'open'>({ ...options, dialect: 'open', settings });
  try {
    return await sender.sendTest(applicationId);
  } finally {
    await sender.close({ deadlineMs: 0 });
  }
}

/**
 * Returns the draft with the saved certificates, or else the saved destination.
 *
 * @throws SecurityEventError `ERR_UNKNOWN_APPLICATION`
 */
export function destinationToTest(
  settings: StoredSettings,
  applicationId: string,
  nowMs: number,
): OrganisedApplication {
  const saved = findSaved(settings, applicationId);
  const draft = draftOf(settings, applicationId);
  const { name, environment, url, secret } = draft ?? saved ?? NO_DESTINATION;
  if (url === undefined || secret === undefined) throw unknown('it has no URL and secret to test');
  const { format } = settings;
  return { name, environment, url, secret: secretAt(secret, nowMs), tls: saved?.tls, format };
}

const NO_DESTINATION = { name: '', environment: '', url: undefined, secret: undefined };
