/** Each event, of a selected module or not: the exact record and message, or the counted skip. */
import { expect, test } from 'vitest';
import { describeAddress } from '../../src/capture/enrichment/describe-address.ts';
import type { LogActor } from '../../src/contract/index.ts';
import type { Receipt } from '../../src/reporter/receipt.ts';
import type { Reporter } from '../../src/reporter/reporter.ts';
import { createFakeClock } from '../../src/testing/index.ts';
import { openReceiver, SECRET } from '../helpers/sender.ts';
import { countedIds, openReporter, SERVICE } from './open-reporter.ts';

const AT = '2026-08-01T12:00:00.000Z';
const AT_B = '2026-08-01T12:00:00.000+00:00';
const IP = describeAddress('203.0.113.9') as LogActor['ip'];
const CONTEXT = { actor: { ip: '203.0.113.9', identifiers: { uid: 7 } }, module: 'waf' };

const resolved = { address: '203.0.113.9', date_resolved: AT_B, geo: {}, is_tor: false };
const related = {
  ...resolved,
  vpn: false,
  proxy: false,
  datacenter: false,
  metadata: {
    version: 4,
    multicast: false,
    private: true,
    global: false,
    unspecified: false,
    reserved: false,
    loopback: false,
  },
  tags: [],
};

const securityEvent = (kind: string, title: string) => ({
  application_id: 'shop-1',
  application_name: 'shop',
  environment: 'production',
  date_occurred: AT_B,
  event_category: 'injection',
  event_id: 'id-1',
  event_kind: kind,
  event_url: 'urn:uuid:id-1',
  humanized_description: `${title} from 203.0.113.9`,
  ips: [resolved],
});

interface Row {
  readonly report: (reporter: Reporter) => Receipt;
  readonly event_name: string;
  readonly payload: object;
  /** The message on channel B, if there is one. */
  readonly v2?: {
    readonly message_id: string;
    readonly message_type: string;
    readonly message: object;
  };
}

const TABLE: Readonly<Record<string, Row>> = {
  attack: {
    report: (reporter) => reporter.attack({ ruleset: 'sql_injection' }, CONTEXT),
    event_name: 'svc.ev0.threat.attack',
    payload: { ruleset: 'sql_injection' },
    v2: {
      message_id: 'id-2',
      message_type: 'security_event',
      message: securityEvent('sql_injection', 'SQL injection'),
    },
  },
  vulnerabilityExploit: {
    report: (reporter) => reporter.vulnerabilityExploit({ protection: 'lfi' }, CONTEXT),
    event_name: 'svc.ev0.threat.vulnerability_exploit',
    payload: { protection: 'lfi' },
    v2: {
      message_id: 'id-2',
      message_type: 'security_event',
      message: securityEvent('lfi', 'Local file inclusion'),
    },
  },
  incident: {
    report: (reporter) =>
      reporter.incident(
        { incident_id: 'i-1', incident_type: 'xss', name: 'XSS on shop', severity: 'major' },
        CONTEXT,
      ),
    event_name: 'svc.ev0.incident',
    payload: {
      event_type: 'create',
      incident_id: 'i-1',
      incident_type: 'xss',
      name: 'XSS on shop',
      severity: 'major',
    },
    v2: {
      message_id: 'id-1',
      message_type: 'injection_xss',
      message: {
        incident_thread: 'i-1',
        incident_status: 'created',
        date_started: AT_B,
        date_last_updated: AT_B,
        application_id: 'shop-1',
        new_related_ips: [related],
      },
    },
  },
  playbookTrigger: {
    report: (reporter) => reporter.playbookTrigger({ name: 'Block IPs' }, CONTEXT),
    event_name: 'svc.ev0.playbook_trigger',
    payload: { name: 'Block IPs', playbook_slug: 'block_ips' },
    v2: {
      message_id: 'id-1',
      message_type: 'security_response',
      message: {
        application: { name: 'shop', environment: 'production', id: 'shop-1' },
        properties: { ips: [{ ip_cidr: '203.0.113.9/32' }], user_identifiers: [{ uid: 7 }] },
        playbook: { name: 'Block IPs', id: 'block_ips' },
      },
    },
  },
  userLogin: {
    report: (reporter) => reporter.userLogin({ success: true }, CONTEXT),
    event_name: 'svc.ev0.user_event.login',
    payload: { success: true },
  },
  userSignup: {
    report: (reporter) => reporter.userSignup({ success: false }, CONTEXT),
    event_name: 'svc.ev0.user_event.signup',
    payload: { success: false },
  },
  customEvent: {
    report: (reporter) => reporter.customEvent('order.placed', { total: 12.5 }, CONTEXT),
    event_name: 'svc.ev0.custom_event',
    payload: { event_name: 'order.placed', options: { total: 12.5 } },
  },
};

const recordOf = ({ event_name, payload }: Row) => ({
  context: { actor: { identifiers: { uid: 7 }, ip: IP, svc_identifier: null }, service: SERVICE },
  detected_at: AT,
  event_name,
  event_version: '1.0.0',
  payload,
});

/** Reports an event. Its record is written before the call returns. */
async function reported(row: Row, isSelected: boolean, format: 1 | 2 = 2) {
  const receiver = await openReceiver();
  const application = {
    name: 'shop',
    environment: 'production',
    url: receiver.url,
    secret: SECRET,
    modules: { waf: isSelected },
    playbooks: { block_ips: isSelected },
  };
  const settings = { format, applications: { 'shop-1': application } };
  const { reporter, records } = openReporter(
    { webhook: { settings, network: 'allow-private' } },
    { clock: createFakeClock(Date.parse(AT)), newId: countedIds() },
  );
  const receipt = row.report(reporter);
  expect(records()).toEqual([recordOf(row)]);
  expect(receipt.record).toEqual(recordOf(row));
  expect(receipt.message_id).toBe(row.v2?.message_id);
  return { reporter, receiver, settled: await receipt.settled };
}

const WRITTEN = { reported: 1, written: 1, outsideStrict: 0, rejected: { log: 0, webhook: 0 } };
const ROWS = Object.entries(TABLE);

test.each(ROWS.filter(([, { v2 }]) => v2))(
  '%s is reported on both channels',
  async (_name, row) => {
    const { reporter, receiver, settled } = await reported(row, true);
    expect(settled).toEqual({ outcome: 'delivered' });
    expect(await reporter.stats()).toMatchObject({ ...WRITTEN, accepted: 1, skipped: {} });
    const v2 = { api_version: '2', date_created: expect.any(String), retry_count: 0, ...row.v2 };
    expect(receiver.requests.map(({ body }) => JSON.parse(String(body)))).toEqual([[v2]]);
  },
);

test.each(ROWS)(
  '%s of a module that is not selected is reported on channel A alone, and that is counted',
  async (_name, row) => {
    const { reporter, receiver, settled } = await reported(row, false);
    const reason = row.v2 === undefined ? 'log-only' : 'module-not-selected';
    expect(settled).toEqual({ outcome: 'skipped', reason });
    const skipped = { [reason]: 1 };
    expect(await reporter.stats()).toMatchObject({ ...WRITTEN, accepted: 0, skipped });
    expect(receiver.requests).toEqual([]);
  },
);

test('the second report of an incident is only logged and counted in format 1 (D44)', async () => {
  const incident = TABLE['incident'] as Row;
  const { reporter, receiver } = await reported(incident, true, 1);
  const receipt = incident.report(reporter);
  expect(await receipt.settled).toEqual({ outcome: 'skipped', reason: 'v1-incident-update' });
  expect(receipt.record).toMatchObject({ payload: { event_type: 'update', incident_id: 'i-1' } });
  expect(receiver.requests).toHaveLength(1);
  expect(await reporter.stats()).toMatchObject({
    reported: 2,
    written: 2,
    accepted: 1,
    skipped: { 'v1-incident-update': 1 },
    rejected: { log: 0, webhook: 0 },
  });
});
