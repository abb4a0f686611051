/** Types of `createWebhookSender` and `sendWebhook`. */
import {
  type CloseResult,
  createWebhookSender,
  type DeadMessage,
  type DeliveryEvent,
  type DeliveryEventName,
  type DeliveryEvents,
  type DeliveryOptions,
  type ExplainedSchedule,
  explainSchedule,
  type FlushResult,
  type MessageQueue,
  type MessageToSend,
  type QueuedMessage,
  type SenderStats,
  type SendOptions,
  type SendReport,
  type SendResult,
  type Settings,
  type SkipReason,
  sendWebhook,
  sign,
  verify,
  type WebhookSender,
  type WebhookSenderOptions,
} from '../../src/index.ts';
import { createMemoryQueue, type MemoryQueueOptions } from '../../src/queue/memory.ts';
import { type Equal, type IsAny, same } from './equal-types.ts';

same<Equal<IsAny<WebhookSender>, false>>();
same<Equal<IsAny<WebhookSenderOptions>, false>>();
same<Equal<IsAny<DeliveryOptions[keyof DeliveryOptions]>, false>>();
same<Equal<IsAny<SendResult>, false>>();
same<Equal<IsAny<SendReport | MessageToSend | MessageToSend<'strict', 1>>, false>>();
same<Equal<IsAny<NonNullable<SendOptions['dispatcher']>>, false>>();

const destination = { url: 'https://receiver.example', secret: 'key' };
const settings: Settings = { applications: {} };

declare const v2: MessageToSend;
declare const v1: MessageToSend<'strict', 1>;
declare const open: MessageToSend<'open'>;

export const senders: readonly WebhookSender[] = [
  createWebhookSender(destination),
  createWebhookSender({ settings }),
  createWebhookSender({ settings: () => undefined }),
  createWebhookSender({ settings: async (id) => ({ name: id, environment: 'test', format: 1 }) }),
  createWebhookSender({ ...destination, queue: createMemoryQueue(), role: 'deliver' }),
  // @ts-expect-error nowhere to send
  createWebhookSender({}),
  // @ts-expect-error a URL without a secret
  createWebhookSender({ url: destination.url }),
  // @ts-expect-error an option that does not exist
  createWebhookSender({ ...destination, retries: 3 }),
  // @ts-expect-error a role that does not exist
  createWebhookSender({ ...destination, role: 'agent' }),
  // @ts-expect-error a number in words
  createWebhookSender({ ...destination, lingerMs: '5' }),
];

export async function takesTheFormatThatTheOptionsName(): Promise<SendReport[]> {
  same<Equal<Awaited<ReturnType<typeof sendWebhook>>, SendReport>>();
  return [
    await sendWebhook(destination, [v2]),
    await sendWebhook(destination, [v2], { format: 2, schedule: { delaysMs: [] } }),
    await sendWebhook(destination, [v1], { format: 1 }),
    await sendWebhook(destination, [open], { dialect: 'open' }),
    // @ts-expect-error an element of format 1 without saying so
    await sendWebhook(destination, [v1]),
    // @ts-expect-error a message of format 2 as v1
    await sendWebhook(destination, [v2], { format: 1 }),
    // @ts-expect-error an option that does not exist
    await sendWebhook(destination, [v2], { retries: 3 }),
    // @ts-expect-error a destination without a secret
    await sendWebhook({ url: destination.url }, [v2]),
    // @ts-expect-error a network policy that does not exist
    await sendWebhook(destination, [v2], { network: 'private' }),
  ];
}

/** Its `reason` and `outcome` are closed vocabularies; `status` is absent where nothing answered. */
export function readsAReport({ requests, undelivered }: SendReport): number {
  const [request] = requests;
  same<Equal<typeof request, SendReport['requests'][number] | undefined>>();
  // @ts-expect-error there may be no answer
  const status: number = request?.status;
  // @ts-expect-error not a reason
  if (undelivered[0]?.reason === 'tired') return 0;
  return status;
}

export const signature: string = sign(new Uint8Array(), 'key');
export const isGenuine: boolean = verify('[]', undefined, ['new', 'old']);

const openSender = createWebhookSender({ ...destination, dialect: 'open' });
same<Equal<typeof openSender, WebhookSender<'open'>>>();

export async function takesMessagesOfItsDialect(sender: WebhookSender): Promise<SendResult[]> {
  same<Equal<Awaited<ReturnType<typeof sender.send>>, SendResult>>();
  return [
    await sender.send([v2]),
    await sender.send([v2], { module: 'waf', playbook: 'Block IPs' }),
    await openSender.send([open]),
    // @ts-expect-error an element of format 1 (D40)
    await sender.send([v1]),
    // @ts-expect-error a message of the open dialect
    await sender.send([open]),
    // @ts-expect-error no array
    await sender.send(v2),
    // @ts-expect-error a selection that does not exist
    await sender.send([v2], { modules: ['waf'] }),
  ];
}

/** Returned messages have closed vocabularies and hide their content. */
export async function readsWhatItIsTold(sender: WebhookSender): Promise<unknown[]> {
  const stats: SenderStats = await sender.stats();
  const flushed: FlushResult = await sender.flush({ signal: AbortSignal.timeout(5) });
  const limited: FlushResult = await sender.flush({ deadlineMs: 5 });
  // @ts-expect-error a plain signal
  void sender.flush(AbortSignal.timeout(5));
  // @ts-expect-error an option that does not exist
  void sender.flush({ timeoutMs: 5 });
  const closed: CloseResult = await sender.close({ deadlineMs: 5 });
  const report: SendReport = await sender.sendTest('shop-1');
  const { items } = await sender.deadLetters({ applicationId: 'shop-1', limit: 5, ids: ['1'] });
  const [letter] = items;
  same<Equal<typeof letter, DeadMessage | undefined>>();
  same<Equal<QueuedMessage['content'], Readonly<Record<string, unknown>>>>();
  // @ts-expect-error there may be no answer
  const status: number = letter?.status;
  // @ts-expect-error not a reason
  if (letter?.reason === 'tired') return [];
  // @ts-expect-error for the queue
  void letter?.stored;
  // @ts-expect-error not a health
  if (stats.applications.get('shop-1')?.health === 'tired') return [];
  return [status, flushed.pending, limited.settledElsewhere, closed.returned, report.ok];
}

export async function closesItselfAtTheEndOfABlock(): Promise<void> {
  const sender: AsyncDisposable = createWebhookSender(destination);
  await sender[Symbol.asyncDispose]();
}

same<Equal<SkipReason, Awaited<SendResult>['skipped'][number]['reason']>>();
same<Equal<DeliveryEventName, keyof DeliveryEvents>>();
same<Equal<DeliveryEvent['senderId'], string>>();
same<Equal<DeliveryEvents['dead']['message_id'], string>>();
// @ts-expect-error an attempt has no URL
export type Leak = DeliveryEvents['attempt-started']['url'];

same<Equal<ReturnType<typeof explainSchedule>, ExplainedSchedule>>();
explainSchedule({ of: 'memory', schedule: { delaysMs: [1] } });
// @ts-expect-error a sender that does not exist
explainSchedule({ of: 'agent' });

const bounds: MemoryQueueOptions = { maxDeadBytes: 0 };
export const queue: MessageQueue = createMemoryQueue(bounds);

// A message in a variable without an annotation: its point is a `number[]`.
const place = { city: 'Lyon', code: 'FRA', point: [4.832, 45.7578] };
const address = {
  address: '203.0.113.9',
  date_resolved: '2026-11-21T09:59:58.000+00:00',
  geo: place,
  is_tor: false,
};
const event = {
  application_id: 'app-1',
  application_name: 'shop',
  environment: 'production',
  date_occurred: '2026-11-21T10:00:00.123+00:00',
  event_category: 'injection',
  event_id: '1',
  event_kind: 'sql_injection',
  event_url: 'https://dashboard.example.com/1',
  humanized_description: 'SQL injection',
  ips: [address],
};
const drafted = { message_type: 'security_event', message: event } satisfies MessageToSend;
const batch = [drafted, drafted];
const listed = [
  { message_type: 'security_event', message: event },
] as const satisfies readonly MessageToSend[];
export const batches = (sender: WebhookSender): readonly Promise<unknown>[] => [
  sendWebhook(destination, batch),
  sendWebhook(destination, listed),
  sender.send(batch),
  sender.send(listed),
];
const wrongPlace = { ...address, geo: { ...place, point: ['4'] } };
const wrong = { ...drafted, message: { ...event, ips: [wrongPlace] } };
export const refused = (sender: WebhookSender): Promise<unknown> =>
  // @ts-expect-error a point of words
  sender.send([wrong]);
