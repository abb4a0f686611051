/** Opens reporters whose lines, messages and rejections tests can read. */
import { onTestFinished } from 'vitest';
import { makeReporter, type ReporterSystem } from '../../src/reporter/create-reporter.ts';
import type { RejectedEvent } from '../../src/reporter/rejections.ts';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { newId } from '../../src/runtime/id.ts';
import { createLineSink, type Receiver, type ReceiverOptions } from '../../src/testing/index.ts';
import { openReceiver, SECRET } from '../helpers/sender.ts';

export const SERVICE = { svc_id: 'shop-1', name: 'shop', env: 'production' };
export const NO_RESULTS = { delivered: 0, dead: 0, discarded: 0 };
export const NOTHING_FLUSHED = { ...NO_RESULTS, settledElsewhere: 0, pending: 0 };
export const ATTACK = { ruleset: 'sql_injection' } as const;
export const INCIDENT = {
  incident_id: 'i-1',
  incident_type: 'sql_injection',
  name: 'SQL injection on shop',
  severity: 'major',
} as const;

/** A reporter without a webhook, unless the options have one. */
export function openReporter(
  options: Partial<ReporterOptions> = {},
  system: Partial<ReporterSystem> = {},
) {
  const sink = createLineSink();
  const rejected: RejectedEvent[] = [];
  const given: ReporterOptions = {
    service: SERVICE,
    log: { destination: sink },
    platform: false,
    onRejected: (event) => rejected.push(event),
    ...options,
  };
  const reporter = makeReporter(given, { clock: systemClock, newId, ...system });
  onTestFinished(async () => void (await reporter.close({ deadlineMs: 0 })));
  const records = () => sink.lines.map((line) => JSON.parse(line));
  /** In the order of the rejections: `log ERR_…`, `webhook ERR_…`. */
  const rejections = () => rejected.map(({ channel, error }) => `${channel} ${error.code}`);
  return { reporter, sink, records, rejected, rejections };
}

interface Receiving extends ReceiverOptions {
  /** Further options of the sender. */
  readonly webhook?: object;
}

/** A reporter that sends its messages to a receiver. */
export async function openSendingReporter(
  options: Partial<ReporterOptions> = {},
  { webhook, ...answers }: Receiving = {},
) {
  const receiver = await openReceiver(answers);
  const opened = openReporter({ webhook: { ...webhookTo(receiver), ...webhook }, ...options });
  const messages = () =>
    receiver.requests.flatMap(({ body }) => JSON.parse(String(body)) as Element[]);
  return { ...opened, receiver, messages };
}

/** A reporter whose application selects modules or playbooks. */
export async function openSelectingReporter(selection: object) {
  const { url } = await openReceiver();
  const application = { name: 'shop', environment: 'production', url, secret: SECRET };
  const settings = { applications: { 'shop-1': { ...application, ...selection } } };
  return openReporter({ webhook: { settings, network: 'allow-private' } });
}

export const webhookTo = ({ url }: Receiver) =>
  ({ url, secret: SECRET, network: 'allow-private' }) as const;

/** Makes ids that count: `id-1`, `id-2`, … */
export function countedIds(): () => string {
  let ids = 0;
  return () => {
    ids += 1;
    return `id-${ids}`;
  };
}

export interface Element {
  readonly message_id: string;
  readonly message: Readonly<Record<string, unknown>>;
}
