/** Senders and receivers that a test opens and that are closed when it is over. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';
import { CHANNEL_PREFIX, EVENT_TABLE } from '../../src/delivery/events.ts';
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

export const SECRET = 'a secret nobody sees';

/** How long a test may wait for something: the machine may be busy with other things. */
export const PATIENCE = { timeoutMs: 25_000 } as const;

/** A concurrent test gives the `onTestFinished` of its own context: the other is of any test. */
export async function openReceiver(
  options: ReceiverOptions = {},
  onFinished = onTestFinished,
): Promise<Receiver> {
  const receiver = await startReceiver({ secret: SECRET, ...options });
  onFinished(() => receiver.close());
  return receiver;
}

/** Of tests: `allow-private`, closed without waiting when the test is over. */
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

/** One security event. What is beside `id` and `application_id` is the same in all. */
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

/** `m-0`, `m-1` … */
export const messages = (count: number, applicationId?: string, text?: string): MessageToSend[] =>
  Array.from({ length: count }, (_, index) => message(`m-${index}`, applicationId, text));

export const ids = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `m-${from + index}`);

/** What each request held, in the order in which they came in. */
export const batches = ({ requests }: Pick<Receiver, 'requests'>): (readonly string[])[] =>
  requests.map(({ messageIds }) => messageIds);

export interface ToldEvent {
  readonly name: DeliveryEventName;
  readonly event: Readonly<Record<string, unknown>>;
}

export interface Told {
  readonly events: readonly ToldEvent[];
  of<Name extends DeliveryEventName>(name: Name): (DeliveryEvents[Name] & { senderId: string })[];
  /** Resolves as soon as so many events of the name were told. */
  until(name: DeliveryEventName, count?: number): Promise<void>;
}

/** Everything that senders of this process tell from now on, until the test is over. */
export function listen(): Told {
  const events: ToldEvent[] = [];
  const checks = new Set<() => void>();
  for (const name of Object.keys(EVENT_TABLE) as DeliveryEventName[]) {
    const take = (event: unknown): void => {
      events.push({ name, event: event as ToldEvent['event'] });
      for (const check of checks) check();
    };
    subscribe(CHANNEL_PREFIX + name, take);
    onTestFinished(() => void unsubscribe(CHANNEL_PREFIX + name, take));
  }
  const of: Told['of'] = (name) =>
    events.filter((told) => told.name === name).map(({ event }) => event as never);
  const until: Told['until'] = (name, count = 1) =>
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

/** What a promise rejects with; `undefined` where it resolves. */
export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
