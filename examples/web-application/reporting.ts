/** What the applications of this process report events with: made once, when it starts. */
import {
  createLogWriter,
  createReporter,
  createWebhookSender,
  type LogRecordInput,
  type Reporter,
  type ReporterOptions,
  type SettingsFunction,
} from 'security-event-delivery';

export interface Reporting {
  reporterFor(service: ReporterOptions['service']): Reporter;
  /** The records that were written for an application so far. */
  writtenFor(applicationId: string): readonly LogRecordInput[];
  /** How many messages of an application have come to nothing so far. */
  undeliveredFor(applicationId: string): Promise<number>;
  /** Resolves when nothing waits any more. */
  settled(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export function createReporting(
  settings: SettingsFunction,
  tell: (text: string) => void,
): Reporting {
  // One sender for all applications, and not one each: they share its queue and its bounds, and its
  // settings say which application wants what. For a process with a single application that wants
  // everything, `webhook: { url, secret }` of the reporter is all there is to say.
  const sender = createWebhookSender({
    settings,
    // Like the reporter's own: a detected attack is not lost for a word that the contract has not.
    dialect: 'open',
    // The receivers are on this machine. By default nothing is sent into private networks.
    network: 'allow-private',
    // Once more, and soon, for the impatient. By default that begins after 5 s and ends after days.
    schedule: { delaysMs: [250] },
  });
  const log = createLogWriter({ dialect: 'open' });
  const written: LogRecordInput[] = [];

  return {
    reporterFor(service) {
      return createReporter({
        service,
        webhook: sender,
        // To standard output, where `log` is left out. This one remembers, for the summary.
        log: {
          write(record) {
            log.write(record);
            written.push(record as LogRecordInput);
          },
          flush: () => log.flush(),
          close: () => log.close(),
        },
        // A full disk must not fail a visitor's request: a reporter tells, and never throws.
        onRejected: ({ channel, method, error }) => {
          tell(`reporter    ${service.name} ${method} (${channel}): ${error.code}`);
        },
      });
    },
    writtenFor: (applicationId) =>
      written.filter(({ context }) => context.service.svc_id === applicationId),
    async undeliveredFor(applicationId) {
      const { items } = await sender.deadLetters({ applicationId });
      return items.length;
    },
    async settled(signal) {
      await sender.flush({ signal });
    },
    async close() {
      await sender.close();
      await log.close();
    },
  };
}
