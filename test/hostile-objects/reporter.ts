/** The cases of `createReporter`. */
import { describeAddress } from '../../src/capture/index.ts';
import { createWebhookSender } from '../../src/index.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { QueueEntry } from '../../src/queue/queue.ts';
import { makeReporter } from '../../src/reporter/create-reporter.ts';
import type { Receipt } from '../../src/reporter/receipt.ts';
import type { Reporter } from '../../src/reporter/reporter.ts';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { wrapQueue } from '../helpers/queues.ts';
import { SECRET } from '../helpers/sender.ts';
import { type During, plain, withGaps, withJson, withZod } from './law.ts';
import { contentOf } from './webhook.ts';

const SERVICE = { svc_id: 'shop-1', name: 'shop', env: 'production' };
const INCIDENT = { incident_id: 'i', incident_type: 'xss', name: 'n', severity: 'major' } as const;
const ACTOR = { ip: '203.0.113.9', identifiers: { uid: 7 } };
const DESCRIBED = [describeAddress('8.8.8.8')] as never;

type Report = (to: Reporter) => Receipt;

const EVENTS: readonly Report[] = [
  (to) => to.attack({ ruleset: 'xss' }),
  (to) => to.attack({ ruleset: 'xss' }, { actor: ACTOR }),
  (to) => to.vulnerabilityExploit({ protection: 'lfi' }),
  (to) => to.playbookTrigger({ name: 'Block IPs' }, { actor: ACTOR }),
  (to) => to.userLogin({ success: true }, { actor: ACTOR }),
  (to) => to.userSignup({ success: false }),
  (to) => to.customEvent('order.placed', { total: 1 }),
  (to) => to.with({ module: 'waf' }).attack({ ruleset: 'xss' }, { webhook: {} }),
];
const INCIDENTS: readonly Report[] = [
  (to) => to.incident(INCIDENT, { actor: ACTOR }),
  (to) => to.incident({ ...INCIDENT, related_ips: ['203.0.113.10'] }),
  (to) => to.incident({ ...INCIDENT, related_ips: DESCRIBED }),
];
const UNSOUND: readonly Report[] = [
  (to) => to.attack({ ruleset: 1n } as never),
  (to) => to.attack({ ruleset: 'xss', evil: 1 } as never),
  (to) => to.incident({ ...INCIDENT, related_ips: ['nonsense'] }),
];

interface Scene {
  readonly reports: readonly Report[];
  readonly options?: Partial<ReporterOptions>;
}

/** One id for all: how many are taken depends on the path that an event takes. */
const newId = () => 'id';

const untouched: During = (act) => act();

const entries: QueueEntry[] = [];
const queue = wrapQueue(createMemoryQueue(), {
  enqueue: (given) => {
    entries.push(...given);
    return Promise.resolve({ sequences: [], closed: [] });
  },
});
// Made before: a sender makes schemas, which zod cannot do while Object.prototype is polluted.
const destination = { url: 'https://receiver.example/', secret: SECRET, dialect: 'open' };
const webhook = createWebhookSender({ ...destination, role: 'enqueue', queue } as never) as never;

const byText = ([one = '']: string[], [other = '']: string[]) => one.localeCompare(other);

/** What a reporter puts on both channels; one of its moments is polluted. */
const reported =
  (moment: 'make' | 'report' | 'ask', { reports, options }: Scene) =>
  async (during: During) => {
    const at = (one: typeof moment): During => (one === moment ? during : untouched);
    const lines: string[] = [];
    const log = { destination: { write: (line: string) => void lines.push(line) } };
    const rejected: unknown[] = [];
    const onRejected: ReporterOptions['onRejected'] = ({ channel, error }) =>
      void rejected.push([channel, error.code, error.path, error.message]);
    const given = { service: SERVICE, log, platform: false, webhook, onRejected, ...options };
    const reporter = at('make')(() =>
      makeReporter(given as ReporterOptions, { clock: createFakeClock(), newId }),
    );
    const receipts = at('report')(() => reports.map((report) => report(reporter)));
    const asked = at('ask')(() => receipts.map(({ settled }) => settled));
    return {
      settled: await Promise.all(asked),
      receipts: receipts.map((receipt) => ({ ...receipt, record: receipt.record })),
      lines,
      // Incidents are sent in their own order, which may take longer.
      messages: entries.splice(0).map(contentOf).toSorted(byText),
      rejected,
      stats: await reporter.stats(),
    };
  };

const SOUND = { reports: [...EVENTS, ...INCIDENTS] };
const PLAINLY = { ...SOUND, options: { beforeSend: () => {} } };

const reporting = (title: string, scene: Scene) =>
  withJson(withZod(plain(title, reported('report', scene))));

export const REPORTER_CASES = [
  // pino copies its levels by `for … in`.
  withGaps(withZod(plain('', reported('make', SOUND))), 'level msgPrefix'),
  reporting('reporting', { reports: EVENTS }),
  reporting('reporting incidents', { reports: INCIDENTS }),
  reporting('reporting with beforeSend', PLAINLY),
  reporting('reporting what breaks the contract', { reports: UNSOUND }),
  plain('asked for a settlement', reported('ask', { reports: [...SOUND.reports, ...UNSOUND] })),
];
