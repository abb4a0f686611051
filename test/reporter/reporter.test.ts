import { describe, expect, test } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { createReporter } from '../../src/reporter/create-reporter.ts';
import { createLineSink } from '../../src/testing/index.ts';
import {
  ATTACK,
  INCIDENT,
  NOTHING_FLUSHED,
  openReporter,
  openSelectingReporter,
  openSendingReporter,
  SERVICE,
} from './open-reporter.ts';

describe('beforeSend', () => {
  test('changes what both channels report', async () => {
    const { reporter, records, messages } = await openSendingReporter({
      beforeSend: (record) => ({ ...record, payload: { ruleset: 'xss' } }),
    });
    await reporter.attack(ATTACK).settled;
    expect(records()[0].payload).toEqual({ ruleset: 'xss' });
    expect(messages()[0]?.message).toMatchObject({ event_kind: 'xss' });
  });

  test('reports its changes of the record when it returns undefined', () => {
    const { reporter, records } = openReporter({
      beforeSend: (record) => {
        record.payload['ruleset'] = 'xss';
      },
    });
    reporter.attack(ATTACK);
    expect(records()[0].payload).toEqual({ ruleset: 'xss' });
  });

  test('drops and counts an event when it returns null', async () => {
    const { reporter, records } = openReporter({ beforeSend: () => null });
    const skipped = { outcome: 'skipped', reason: 'dropped' };
    expect(await reporter.attack(ATTACK).settled).toEqual(skipped);
    expect(records()).toEqual([]);
    expect(await reporter.stats()).toMatchObject({ reported: 1, dropped: 1, written: 0 });
  });

  test.each<[unknown, string]>([
    [Promise.resolve(), '`beforeSend` returned a promise'],
    ...[false, 5, 'x', []].map((value): [unknown, string] => [value, 'expected an object, found']),
  ])('rejects the event on both channels when it returns %j', async (value, detail) => {
    const beforeSend = () => value as never;
    const { reporter, rejected } = await openSendingReporter({ beforeSend });
    reporter.attack(ATTACK);
    const error = { code: 'ERR_INVALID_RECORD', message: expect.stringContaining(detail) };
    expect(rejected).toMatchObject([
      { channel: 'log', error },
      { channel: 'webhook', error },
    ]);
  });

  test('rejects the event when it throws or returns an invalid record', () => {
    const { reporter, rejections } = openReporter({
      beforeSend: (record) => {
        if (record.payload['ruleset'] === 'xss') return { evil: 1n };
        throw new Error('of the host');
      },
    });
    reporter.attack(ATTACK);
    reporter.attack({ ruleset: 'xss' });
    expect(rejections()).toEqual(['log ERR_BEFORE_SEND_FAILED', 'log ERR_INVALID_RECORD']);
  });
});

describe('the message on channel B', () => {
  test('follows the vocabulary of the reporter and the overrides of the call', async () => {
    const { reporter, messages } = await openSendingReporter({
      eventUrl: 'https://events.example/{id}?of={id}',
      eventVocabulary: { xss: { kind: 'xss_stored' } },
    });
    await reporter.attack({ ruleset: 'xss' }, { webhook: { title: 'Script', message_id: 'm-1' } })
      .settled;
    const [element] = messages();
    expect(element?.message_id).toBe('m-1');
    const id = String(element?.message['event_id']);
    expect(element?.message).toMatchObject({
      event_category: 'injection',
      event_kind: 'xss_stored',
      event_url: `https://events.example/${id}?of=${id}`,
      humanized_description: 'Script',
    });
  });

  test('is the caller’s own message, for any event', async () => {
    const { reporter, messages } = await openSendingReporter();
    const message = {
      application_id: 'shop-1',
      application_name: 'shop',
      environment: 'production',
      date_occurred: '2026-08-01T12:00:00.000+00:00',
      event_category: 'authentication',
      event_id: 'e-1',
      event_kind: 'auth_tor_tentative',
      event_url: 'https://events.example/e-1',
      humanized_description: 'Login through Tor',
      ips: [],
    };
    const webhook = { message, message_type: 'security_event' };
    const receipt = reporter.userLogin({ success: true }, { webhook });
    expect(await receipt.settled).toEqual({ outcome: 'delivered' });
    expect(messages()[0]).toMatchObject({ message_type: 'security_event', message });
    const typeless = reporter.userLogin({ success: true }, { webhook: { message } });
    expect(await typeless.settled).toEqual({ outcome: 'skipped', reason: 'no-message-type' });
  });

  test('is absent with webhook: false', async () => {
    const { reporter, receiver } = await openSendingReporter();
    const settled = [
      await reporter.attack(ATTACK, { webhook: false }).settled,
      await reporter.incident(INCIDENT, { webhook: false }).settled,
    ];
    expect(settled.map(({ reason }) => reason)).toEqual(['not-wanted', 'not-wanted']);
    expect(receiver.requests).toEqual([]);
  });
});

test('a message has the rating of the call (D81)', async () => {
  const { reporter, messages } = await openSendingReporter();
  const report = (webhook: object) => reporter.attack(ATTACK, { webhook }).settled;
  expect(await report({ risk_coefficient: 80 })).toEqual({ outcome: 'delivered' });
  expect(await report({})).toEqual({ outcome: 'delivered' });
  const refused = { outcome: 'rejected', reason: 'ERR_INVALID_MESSAGE' };
  expect(await report({ risk_coefficient: 101 })).toEqual(refused);
  expect(messages().map(({ message }) => message['risk_coefficient'])).toEqual([80, undefined]);
});

test('a playbook is selected by the slug that is reported', async () => {
  const { reporter } = await openSelectingReporter({ playbooks: { other: true } });
  const receipt = reporter.playbookTrigger({ name: 'Block IPs', playbook_slug: 'other' });
  expect(await receipt.settled).toEqual({ outcome: 'delivered' });
  const skipped = reporter.playbookTrigger({ name: 'Block IPs' });
  expect(await skipped.settled).toEqual({ outcome: 'skipped', reason: 'playbook-not-selected' });
});

describe('an event that only the open dialect allows', () => {
  const IPV6 = { actor: { ip: '2001:db8::7' } };

  test('is written and counted', async () => {
    const { reporter, records } = openReporter();
    expect(reporter.attack(ATTACK, IPV6).record).toMatchObject({ payload: ATTACK });
    reporter.attack({ ruleset: 'a_new_word' });
    reporter.attack(ATTACK);
    expect(records()).toHaveLength(3);
    expect(await reporter.stats()).toMatchObject({ written: 3, outsideStrict: 2 });
  });

  test('is rejected in the strict dialect', async () => {
    const { reporter, records } = openReporter({ dialect: 'strict' });
    reporter.attack(ATTACK, IPV6);
    expect(records()).toEqual([]);
    const counted = { written: 0, outsideStrict: 0, rejected: { log: 1 } };
    expect(await reporter.stats()).toMatchObject(counted);
  });
});

test('stats counts events by name, custom events as one', async () => {
  const { reporter } = openReporter();
  reporter.attack(ATTACK);
  reporter.attack({ ruleset: '' });
  reporter.customEvent('a', {});
  reporter.customEvent('b', {});
  reporter.incident(INCIDENT);
  expect(await reporter.stats()).toMatchObject({
    reported: 5,
    reportedByName: {
      'svc.ev0.threat.attack': 2,
      'svc.ev0.threat.vulnerability_exploit': 0,
      'svc.ev0.incident': 1,
      'svc.ev0.playbook_trigger': 0,
      'svc.ev0.user_event.login': 0,
      'svc.ev0.user_event.signup': 0,
      'svc.ev0.custom_event': 2,
    },
  });
});

describe('the suffix of an exploit (D1)', () => {
  const NAME = 'svc.ev0.threat.vulnerability_exploit';

  test.each([
    [{ suffix: true }, `${NAME}.lfi`],
    [{ suffix: false }, NAME],
    [{}, NAME],
  ])('is the protection on channel A with the options %j', async (options, name) => {
    const given = { ...options, dialect: 'strict' } as const;
    const { reporter, records, messages } = await openSendingReporter(given);
    await reporter.vulnerabilityExploit({ protection: 'lfi' }).settled;
    expect(records().map((record) => record.event_name)).toEqual([name]);
    expect(messages()[0]).toMatchObject({ message: { event_kind: 'lfi' } });
  });

  test('is the protection that beforeSend leaves; beforeSend sees the name without it', () => {
    const seen: string[] = [];
    const { reporter, records } = openReporter({
      suffix: true,
      beforeSend: (record) => {
        seen.push(record.event_name);
        return { ...record, payload: { protection: 'redacted' } };
      },
    });
    reporter.vulnerabilityExploit({ protection: 'lfi' });
    expect([seen, records()[0].event_name]).toEqual([[NAME], `${NAME}.redacted`]);
  });

  test('is missing without a protection, and for other events', async () => {
    const { reporter, records } = openReporter({ suffix: true });
    reporter.vulnerabilityExploit({ protection: '' });
    reporter.attack({ ruleset: 'lfi' });
    reporter.vulnerabilityExploit({ protection: 7 } as never);
    expect(records().map((record) => record.event_name)).toEqual([NAME, 'svc.ev0.threat.attack']);
    expect((await reporter.stats()).rejected.log).toBe(1);
  });
});

test('a disabled reporter skips every event without reading it', async () => {
  const reporter = createReporter({ service: SERVICE, enabled: false });
  const unread = new Proxy({}, { get: () => expect.unreachable() });
  const receipt = reporter.attack(unread as never, unread);
  expect('record' in receipt).toBe(false);
  expect(await receipt.settled).toEqual({ outcome: 'skipped', reason: 'disabled' });
  expect(reporter.incident(unread as never)).toBe(receipt);
  expect(reporter.with(unread as never).attack(unread as never)).toBe(receipt);
  expect((await reporter.stats()).reported).toBe(0);
  expect(await reporter.flush()).toEqual(NOTHING_FLUSHED);
  expect(await reporter.close()).toMatchObject({ returned: [], remaining: 0 });
});

test('a log writer whose `write` the host has replaced gets each record by that', async () => {
  const sink = createLineSink();
  const log = createLogWriter<'open'>({ destination: sink, dialect: 'open' });
  const write = log.write.bind(log);
  log.write = (record) => write({ ...record, payload: { ruleset: 'redacted' } } as never);
  const { reporter, rejected } = openReporter({ log });
  reporter.attack(ATTACK);
  expect(rejected).toEqual([]);
  expect(sink.lines.map((line) => JSON.parse(line).payload)).toEqual([{ ruleset: 'redacted' }]);
  expect((await reporter.stats()).written).toBe(1);
});
