/** Opens senders and receivers. Closes them at the end of the test. */
import { onTestFinished } from 'vitest';
import {
  createWebhookSender,
  type DeliveryEventName,
  type DeliveryEvents,
  type DeliveryOptions,
  type MessageToSend,
  type WebhookSender,
  type WebhookSenderOptions,
} from '../../src/index.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from '../../src/testing/index.ts';
import { type EventFields, onDeliveryEvent } from './delivery-events.ts';

export const SECRET = 'a-signing-secret';

/** Maximum wait for an event in a test. Generous, because the machine may be busy. */
export const GENEROUS_TIMEOUT = { timeoutMs: 25_000 } as const;

/** A concurrent test passes the `onTestFinished` of its own context. */
export async function openReceiver(
  options: ReceiverOptions = {},
  onFinished = onTestFinished,
): Promise<Receiver> {
  const receiver = await startReceiver({ secret: SECRET, ...options });
  onFinished(() => receiver.close());
  return receiver;
}

/** Opens a sender with `allow-private`. Closes it without waiting at the end of the test. */
export function openSender(options: WebhookSenderOptions): WebhookSender {
  const sender = createWebhookSender({ network: 'allow-private', ...options });
  onTestFinished(async () => {
    await sender.close({ deadlineMs: 0 });
  });
  return sender;
}

/** A sender whose only application is `shop-1`. */
export const senderTo = ({ url }: { readonly url: string }, options: DeliveryOptions = {}) =>
  openSender({ url, secret: SECRET, ...options });

/** Settings with an application for each receiver, by its id. */
export function applicationsOf(receivers: Readonly<Record<string, { readonly url: string }>>) {
  const entries = Object.entries(receivers).map(
    ([id, { url }]) => [id, { name: id, environment: 'test', url, secret: SECRET }] as const,
  );
  return { applications: Object.fromEntries(entries) };
}

/** A security event. Only its ids and text differ. */
export const message = (id: string, applicationId = 'shop-1', text = 'x'): MessageToSend => ({
  message_id: id,
  message_type: 'security_event',
  message: {
    application_id: applicationId,
    application_name: 'shop',
    environment: 'production',
    date_occurred: '2026-11-21T10:00:00.000+00:00',
    event_category: 'injection',
    event_id: id,
    event_kind: 'sql_injection',
    event_url: 'https://dashboard.example/events/1',
    humanized_description: text,
    ips: [],
  },
});

/** Messages with the ids `m-0`, `m-1` … */
export const messages = (count: number, applicationId?: string, text?: string): MessageToSend[] =>
  Array.from({ length: count }, (_, index) => message(`m-${index}`, applicationId, text));

export const ids = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `m-${from + index}`);

/** The result of a flush without pending messages. */
export const NONE = {
  delivered: 0,
  dead: 0,
  discarded: 0,
  settledElsewhere: 0,
  pending: 0,
} as const;

/** Returns the message ids of each request, in order of arrival. */
export const batches = ({ requests }: Pick<Receiver, 'requests'>): (readonly string[])[] =>
  requests.map(({ messageIds }) => messageIds);

export interface PublishedEvent {
  readonly name: DeliveryEventName;
  readonly event: EventFields;
}

export interface PublishedEvents {
  readonly events: readonly PublishedEvent[];
  of<Name extends DeliveryEventName>(name: Name): (DeliveryEvents[Name] & { senderId: string })[];
  /** Resolves when this many events of that name were published. */
  until(name: DeliveryEventName, count?: number): Promise<void>;
}

/** Collects every event that senders of this process publish, until the test ends. */
export function listen(): PublishedEvents {
  const events: PublishedEvent[] = [];
  const checks = new Set<() => void>();
  const stopListening = onDeliveryEvent((name, event) => {
    events.push({ name, event });
    for (const check of checks) check();
  });
  onTestFinished(stopListening);
  const of: PublishedEvents['of'] = (name) =>
    events.filter((event) => event.name === name).map(({ event }) => event as never);
  const until: PublishedEvents['until'] = (name, count = 1) =>
    new Promise((resolve) => {
      const check = (): void => {
        if (of(name).length < count) return;
        checks.delete(check);
        resolve();
      };
      checks.add(check);
      check();
    });
  return { events, of, until };
}

/** Returns a promise's rejection reason, or undefined if it resolves. */
export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
