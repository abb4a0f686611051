/**
 * An outbox in memory: messages wait here while a request is under way and then go together, so
 * that they arrive in order and the application never waits for the receiver.
 */
import { type SendReport, sendWebhook } from 'security-event-delivery';
import type { WebhookMessageToSend } from 'security-event-delivery/contract';

export interface Deliveries {
  /** Returns at once. */
  add(message: WebhookMessageToSend): void;
  /** Resolves when nothing waits any more, with a report for every call of `sendWebhook`. */
  finished(): Promise<readonly SendReport[]>;
}

export interface DeliveriesOptions {
  readonly url: string;
  readonly secret: string;
  readonly signal: AbortSignal;
  /** Told of messages that break the contract; a receiver's refusals are in the reports. */
  readonly onFailure: (error: unknown) => void;
}

export function createDeliveries({
  url,
  secret,
  signal,
  onFailure,
}: DeliveriesOptions): Deliveries {
  const reports: SendReport[] = [];
  let waiting: WebhookMessageToSend[] = [];
  let sending: Promise<void> | undefined;

  const sendWhatWaits = async (): Promise<void> => {
    while (waiting.length > 0) {
      const messages = waiting;
      waiting = [];
      // The default schedule waits 0.5, 2 and 5 s; this one is for the impatient.
      const schedule = { delaysMs: [250, 500] };
      try {
        reports.push(await sendWebhook({ url, secret }, messages, { schedule, signal }));
      } catch (error) {
        onFailure(error);
      }
    }
    sending = undefined;
  };

  return {
    add(message) {
      waiting.push(message);
      sending ??= sendWhatWaits();
    },
    async finished() {
      await sending;
      return reports;
    },
  };
}
