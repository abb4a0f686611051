/** Incidents on both channels: what creates and updates them, and what their messages list. */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { describeAddress } from '../../src/capture/enrichment/describe-address.ts';
import type { LogActor } from '../../src/contract/index.ts';
import type { IncidentReport, IncidentStore } from '../../src/incident/incident-store.ts';
import { createMemoryIncidents } from '../../src/incident/memory-incidents.ts';
import type { IncidentPayload } from '../../src/reporter/event-input.ts';
import {
  ATTACK,
  type Element,
  INCIDENT,
  openReporter,
  openSendingReporter,
} from './open-reporter.ts';

const eventTypes = (records: readonly { payload: { event_type: string } }[]) =>
  records.map(({ payload }) => payload.event_type);

const account = (uid: number) => ({ svc_id: 'a', user_identifiers: { uid }, ip_address: '' });

const TAKEOVER = { ...INCIDENT, incident_type: 'failed_auth_peak' } as const;

const takeover = (related_ips: string[], accounts: number[]) => ({
  ...TAKEOVER,
  related_ips,
  compromised_accounts: accounts.map(account),
});

/** The status, addresses and accounts of a message. */
function listed({ message }: Element) {
  const found = message as {
    incident_status: string;
    new_related_ips: { address: string }[];
    new_compromised_accounts?: { user_identifiers: { uid: number } }[];
  };
  const addresses = found.new_related_ips.map(({ address }) => address.replace('203.0.113.', '.'));
  const ids = found.new_compromised_accounts?.map((one) => one.user_identifiers.uid) ?? [];
  return [found.incident_status, addresses, ids];
}

/** Reports each, and returns what the messages list. */
async function listedAfter(payloads: readonly IncidentPayload[]) {
  const { reporter, messages } = await openSendingReporter();
  for (const payload of payloads) await reporter.incident(payload).settled;
  return messages().map(listed);
}

test('an incident is created once and then updated, with new addresses and accounts only', async () => {
  expect(
    await listedAfter([
      takeover(['203.0.113.1', '203.0.113.2'], [1]),
      takeover(['203.0.113.2', '203.0.113.3', '203.0.113.3'], [1, 2]),
      takeover(['203.0.113.1'], []),
    ]),
  ).toEqual([
    ['created', ['.1', '.2'], [1]],
    ['updated', ['.3'], [2]],
    ['updated', [], []],
  ]);
});

test('an account is listed in the first message that may list accounts', async () => {
  const accounts = { compromised_accounts: [account(1)], related_ips: ['203.0.113.1'] };
  const later = { ...TAKEOVER, ...accounts };
  expect(await listedAfter([{ ...INCIDENT, ...accounts }, later, later])).toEqual([
    ['created', ['.1'], []],
    ['updated', [], [1]],
    ['updated', [], []],
  ]);
});

test('an address is listed once, however it is spelt', async () => {
  const facts = describeAddress('203.0.113.1') as LogActor['ip'];
  const mapped = { ...facts, address: '::ffff:203.0.113.1' };
  const spelt = { ...INCIDENT, related_ips: ['::ffff:203.0.113.1', mapped, '2001:DB8::7', facts] };
  expect(await listedAfter([spelt, spelt])).toEqual([
    ['created', ['.1', '2001:db8::7'], []],
    ['updated', [], []],
  ]);
});

test('the addresses in the caller’s own message are remembered, and no others', async () => {
  const { reporter, messages } = await openSendingReporter();
  const related_ips = ['203.0.113.1', '203.0.113.2', '203.0.113.3'];
  await reporter.incident({ ...INCIDENT, related_ips: related_ips.slice(0, 1) }).settled;
  const first = messages()[0]?.message;
  const [ip] = (first?.['new_related_ips'] ?? []) as object[];
  const message = { ...first, new_related_ips: [{ ...ip, address: '203.0.113.2' }] };
  const payload = { ...INCIDENT, related_ips };
  await reporter.incident(payload, { webhook: { message } }).settled;
  await reporter.incident(payload).settled;
  expect(messages().map((sent) => listed(sent)[1])).toEqual([['.1'], ['.2'], ['.3']]);
});

test('an incident begins now if its time is invalid', async () => {
  const { reporter, messages } = await openSendingReporter();
  reporter.incident(INCIDENT, { detected_at: 'nonsense' });
  await reporter.incident(INCIDENT).settled;
  expect(messages()[0]?.message['date_started']).toMatch(/^20[2-9]/);
});

test('the second message creates an incident when the first is refused', async () => {
  const { reporter, messages } = await openSendingReporter();
  const broken = { ...INCIDENT, related_ips: [{ address: 'nonsense', metadata: {}, geo: {} }] };
  const outcomes = await Promise.all(
    [broken, INCIDENT, INCIDENT].map((payload) => reporter.incident(payload as never).settled),
  );
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(['rejected', 'delivered', 'delivered']);
  expect(messages().map((sent) => listed(sent)[0])).toEqual(['created', 'updated']);
});

test('an incident has the status that the call sets', async () => {
  const { reporter, records, messages } = await openSendingReporter();
  await reporter.incident({ ...INCIDENT, event_type: 'update' }).settled;
  await reporter.incident({ ...INCIDENT, event_type: 'create' }).settled;
  expect(eventTypes(records())).toEqual(['update', 'create']);
  expect(messages().map((sent) => listed(sent)[0])).toEqual(['updated', 'created']);
});

test.each([
  ['targeted_attack', {}],
  ['xss', { incidentVocabulary: { xss: null } }],
] as const)(
  'an incident of the type %s without a message type is reported on channel A alone',
  async (incident_type, options) => {
    const { reporter, records } = await openSendingReporter(options);
    const skipped = { outcome: 'skipped', reason: 'no-message-type' };
    expect(await reporter.incident({ ...INCIDENT, incident_type }).settled).toEqual(skipped);
    expect(eventTypes(records())).toEqual(['create']);
  },
);

test('an incident has the genre of its type and the reporter’s URL in format 1', async () => {
  const { reporter, messages } = await openSendingReporter(
    { eventUrl: 'https://events.example/{id}' },
    { webhook: { format: 1 } },
  );
  await reporter.incident(TAKEOVER, { webhook: { v1: { blocked: true } } }).settled;
  expect(messages()[0]).toMatchObject({
    pulse_genre: 'failed_auth_peak',
    url: 'https://events.example/i-1',
    blocked: true,
  });
});

test('the store is not asked about a log that the reporter does not have', async () => {
  const asked: string[] = [];
  const memory = createMemoryIncidents();
  const incidents = {
    record: (report: IncidentReport) => {
      asked.push(`${report.channel} ${report.incidentId}`);
      return memory.record(report);
    },
    retract: () => {},
  };
  const { reporter } = await openSendingReporter({ log: false, incidents });
  const { record, settled } = reporter.incident(INCIDENT);
  expect([record, await settled]).toEqual([undefined, { outcome: 'delivered' }]);
  expect(asked).toEqual([`webhook ${INCIDENT.incident_id}`]);
});

test.each([
  ['undefined', undefined],
  ['an incomplete object', { isFirst: true, startedAt: 'now' }],
])('an incident is rejected on channel B when the store returns %s', async (_name, answer) => {
  const incidents = { record: () => answer as never, retract: () => {} };
  const { reporter, rejections } = await openSendingReporter({ incidents });
  const { settled } = reporter.incident(INCIDENT);
  expect(await settled).toEqual({ outcome: 'rejected', reason: 'ERR_QUEUE_FAILED' });
  expect(rejections().at(-1)).toBe('webhook ERR_QUEUE_FAILED');
});

test('an incident throws with strict when its record is invalid, though the store retracts later', () => {
  const memory = createMemoryIncidents();
  const incidents: IncidentStore = {
    record: (report) => memory.record(report),
    retract: async (report, news) => memory.retract(report, news),
  };
  const { reporter } = openReporter({ strict: true, incidents });
  expect(() => reporter.incident({ ...INCIDENT, severity: '' })).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_RECORD', path: ['payload', 'severity'] }),
  );
  expect(reporter.incident(INCIDENT).record).toBeUndefined();
});

test('an incident waits for a store of promises, in its order, and other events do not', async () => {
  const memory = createMemoryIncidents();
  const incidents: IncidentStore = {
    record: async (report) => {
      await wait(1);
      return memory.record(report);
    },
    retract: async (report, news) => memory.retract(report, news),
  };
  const { reporter, records } = openReporter({ incidents });
  const receipts = [reporter.incident(INCIDENT), reporter.incident(INCIDENT)];
  reporter.attack(ATTACK);
  expect(receipts.map(({ record }) => record)).toEqual([undefined, undefined]);
  expect(records()).toHaveLength(1);
  await reporter.flush();
  expect(eventTypes(records().slice(1))).toEqual(['create', 'update']);
});
