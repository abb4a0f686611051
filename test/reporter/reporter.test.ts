import { AssertionError, deepStrictEqual } from 'node:assert';
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeAddress } from '../../src/capture/enrichment/describe-address.ts';
import { createEnrichment } from '../../src/capture/enrichment/enrichers.ts';
import { createRequestCapture } from '../../src/capture/request/request-capture.ts';
import { identify } from '../../src/capture/request/request-scope.ts';
import type { LogActor } from '../../src/contract/index.ts';
import { createLogWriter } from '../../src/log/writer.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { createReporter } from '../../src/reporter/create-reporter.ts';
import { urlFrom } from '../../src/reporter/reporter-options.ts';
import { createLineSink } from '../../src/testing/index.ts';
import { openReceiver, openSender, SECRET } from '../helpers/sender.ts';
import { whilePolluted } from '../hostile-objects/pollution.ts';
import {
  ATTACK,
  INCIDENT,
  openReporter,
  openSendingReporter,
  SERVICE,
  webhookTo,
} from './open-reporter.ts';

const pending = (): Promise<never> => new Promise(() => {});

const NONE = { delivered: 0, dead: 0, discarded: 0 };
const NOTHING_FLUSHED = { ...NONE, settledElsewhere: 0, pending: 0 };
const NOTHING_CLOSED = { ...NONE, returned: [], remaining: 0 };

const FACTS = describeAddress('203.0.113.9') as LogActor['ip'];

describe('the context of an event', () => {
  const REQUEST = {
    method: 'POST',
    url: '/login?next=%2F',
    headers: { host: 'shop.example' },
    socket: { remoteAddress: '203.0.113.9', remotePort: 4711 },
  };
  const inRequest = (work: () => void): void => createRequestCapture().run(REQUEST, work);

  test('is found by a method that was passed on alone', () => {
    const { reporter, records } = openReporter();
    const { attack } = reporter;
    inRequest(() => attack(ATTACK));
    expect(records()[0].context).toMatchObject({ http: { request: { path: '/login' } } });
  });

  test('is the context of the current request, with the identified user', () => {
    const { reporter, records } = openReporter();
    inRequest(() => {
      identify({ uid: 7 });
      reporter.attack(ATTACK);
    });
    expect(records()[0].context).toMatchObject({
      actor: { identifiers: { uid: 7 }, ip: { address: '203.0.113.9' } },
      http: { request: { path: '/login', remote_port: '4711' }, response: { blocked: false } },
      service: SERVICE,
    });
  });

  test.each([
    ['identifiers alone', { identifiers: { uid: 8 } }, { uid: 8 }, '203.0.113.9'],
    ['the same address', { ip: '::ffff:203.0.113.9' }, { uid: 7 }, '203.0.113.9'],
    [
      'the facts of the same address',
      { ip: { ...FACTS, address: '::ffff:203.0.113.9' } },
      { uid: 7 },
      '203.0.113.9',
    ],
    ['another address, which is another actor', { ip: '203.0.113.10' }, null, '203.0.113.10'],
    ['an empty actor', {}, { uid: 7 }, '203.0.113.9'],
  ])('is completed from the request: %s', (_name, actor, identifiers, address) => {
    const { reporter, records } = openReporter();
    inRequest(() => {
      identify({ uid: 7 });
      reporter.attack(ATTACK, { actor });
    });
    expect(records()[0].context.actor).toMatchObject({ identifiers, ip: { address } });
  });

  test('is empty outside of a request', () => {
    const { reporter, records } = openReporter();
    reporter.attack(ATTACK);
    expect(records()[0].context).toEqual({ service: SERVICE });
  });

  test('comes from the context function, and is empty if that throws', () => {
    const { reporter, records } = openReporter({
      context: () => createRequestCapture().contextOf(REQUEST),
    });
    reporter.attack(ATTACK);
    expect(records()[0].context.actor.ip.address).toBe('203.0.113.9');
    const failing = openReporter({
      context: () => {
        throw new Error('of the host');
      },
    });
    failing.reporter.attack(ATTACK);
    expect(failing.records()[0].context).toEqual({ service: SERVICE });
  });

  test('has the facts of enrichers for an address given as text', () => {
    const enrichment = createEnrichment({ enrichers: [() => ({ tor: true })] });
    const { reporter, records } = openReporter({ enrichment });
    reporter.attack(ATTACK, { actor: { ip: '8.8.8.8' } });
    expect(records()[0].context.actor.ip.metadata.tor).toBe(true);
  });

  test.each([
    [new Date('2026-08-01T12:00:00Z'), '2026-08-01T12:00:00.000Z', '2026-08-01T12:00:00.000+00:00'],
    ['2026-08-01T14:00:00+02:00', '2026-08-01T14:00:00+02:00', '2026-08-01T12:00:00.000+00:00'],
  ])('has the time of the call: %s', async (detected_at, onLog, onWebhook) => {
    const { reporter, records, messages } = await openSendingReporter();
    await reporter.attack(ATTACK, { detected_at }).settled;
    expect(records()[0].detected_at).toBe(onLog);
    expect(messages()[0]?.message).toMatchObject({ date_occurred: onWebhook });
  });
});

describe('beforeSend', () => {
  test('changes what both channels report', async () => {
    const { reporter, records, messages } = await openSendingReporter({
      beforeSend: (record) => ({ ...record, payload: { ruleset: 'xss' } }),
    });
    const receipt = reporter.attack(ATTACK);
    await receipt.settled;
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
    expect(await reporter.attack(ATTACK).settled).toEqual({
      outcome: 'skipped',
      reason: 'dropped',
    });
    expect(records()).toEqual([]);
    expect(await reporter.stats()).toMatchObject({ reported: 1, dropped: 1, written: 0 });
  });

  test('rejects the event when it returns a promise', () => {
    const { reporter, rejected } = openReporter({
      beforeSend: (() => Promise.reject(new Error('of the host'))) as never,
    });
    reporter.attack(ATTACK);
    expect(rejected[0]?.error).toMatchObject({
      code: 'ERR_INVALID_RECORD',
      message: expect.stringContaining('`beforeSend` returned a promise'),
    });
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

describe('a receipt', () => {
  test('says that a message is dead, and why', async () => {
    const { reporter } = await openSendingReporter(
      {},
      { otherwise: { status: 400 }, webhook: { schedule: { delaysMs: [] } } },
    );
    expect(await reporter.attack(ATTACK).settled).toEqual({
      outcome: 'dead',
      reason: 'attempts-exhausted',
    });
  });

  test('says that another process delivers the message', async () => {
    const webhook = { queue: createMemoryQueue(), role: 'enqueue' } as const;
    const { reporter } = await openSendingReporter({}, { webhook });
    expect(await reporter.attack(ATTACK).settled).toEqual({ outcome: 'accepted' });
  });

  test('shows the record and the id of the message in JSON and on the console', async () => {
    const { reporter, records } = await openSendingReporter();
    const receipt = reporter.attack(ATTACK);
    const { message_id } = receipt;
    expect(message_id).toEqual(expect.any(String));
    expect(JSON.parse(JSON.stringify({ receipt }))).toEqual({
      receipt: { record: records()[0], message_id },
    });
    expect(inspect(receipt)).toBe(inspect({ record: records()[0], message_id }));
    const none = openReporter({ log: false }).reporter.attack(ATTACK);
    expect(JSON.stringify(none)).toBe('{}');
  });

  test('is compared, copied and cloned by its record and the id of its message', () => {
    const { reporter } = openReporter();
    const [one, other] = [
      reporter.userLogin({ success: true }),
      reporter.userLogin({ success: false }),
    ];
    expect(() => deepStrictEqual(one, other)).toThrow(AssertionError);
    const { record } = one;
    expect(one.record).toBe(record);
    expect({ ...one }).toStrictEqual({ record });
    expect(structuredClone(one)).toStrictEqual({ record });
    expect(Object.keys(one)).toEqual(['record']);
  });

  test('has no record if none was written', () => {
    const { reporter } = openReporter({ log: false });
    expect('record' in reporter.attack(ATTACK)).toBe(false);
    expect('record' in openReporter({ enabled: false }).reporter.attack(ATTACK)).toBe(false);
  });

  test.each(['value', 'writable', 'get', 'set', 'enumerable'])(
    'has its record while Object.prototype has a %s',
    (key) => {
      const { reporter } = openReporter();
      const pollution = { names: [key], value: false };
      const receipt = whilePolluted(pollution, () => reporter.attack(ATTACK));
      expect(Object.keys(receipt)).toEqual(['record']);
    },
  );

  test('has one promise for all readers', () => {
    const { reporter } = openReporter();
    const receipt = reporter.attack(ATTACK);
    expect(receipt.settled).toBe(receipt.settled);
  });
});

describe('closing a reporter', () => {
  test('delivers pending messages, and rejects later events', async () => {
    const { reporter, records, rejections } = await openSendingReporter();
    reporter.attack(ATTACK);
    reporter.incident(INCIDENT);
    const closing = reporter.close();
    expect(reporter.close()).toBe(closing);
    const receipt = reporter.attack(ATTACK);
    expect(await closing).toEqual({ ...NOTHING_CLOSED, delivered: 2 });
    expect(await receipt.settled).toEqual({ outcome: 'rejected', reason: 'ERR_REPORTER_CLOSED' });
    expect(rejections()).toEqual(['log ERR_REPORTER_CLOSED', 'webhook ERR_REPORTER_CLOSED']);
    expect(records()).toHaveLength(2);
  });

  test('returns undelivered messages', async () => {
    const { reporter, receiver } = await openSendingReporter({}, { otherwise: { status: 500 } });
    const { settled, message_id } = reporter.attack(ATTACK);
    await receiver.waitForRequests(1);
    const { returned } = await reporter.close({ deadlineMs: 0 });
    expect(returned.map((message) => message.message_id)).toEqual([message_id]);
    expect(await settled).toEqual({ outcome: 'discarded', reason: 'returned' });
  });

  test('leaves the caller’s writer and sender open', async () => {
    const receiver = await openReceiver();
    const sink = createLineSink();
    const log = createLogWriter<'open'>({ destination: sink, dialect: 'open' });
    const sender = openSender(webhookTo(receiver));
    const { reporter } = openReporter({ log, webhook: sender });
    expect(await reporter.attack(ATTACK).settled).toEqual({ outcome: 'delivered' });
    expect(await reporter.close()).toEqual(NOTHING_CLOSED);
    log.write(JSON.parse(sink.lines[0] ?? ''));
    expect(sink.lines).toHaveLength(2);
    expect((await sender.stats()).delivered).toBe(1);
  });

  test('returns the error of the log beside the other results', async () => {
    const log = {
      write: () => {},
      flush: () => Promise.reject(new Error('EIO')),
      close: () => Promise.reject(new Error('EIO')),
    };
    const { reporter } = openReporter({ log });
    const logError = expect.objectContaining({ code: 'ERR_WRITE_FAILED' });
    expect(await reporter.flush()).toEqual({ ...NOTHING_FLUSHED, logError });
    expect(await reporter.close()).toMatchObject({ logError });
  });

  test.each(['flush', 'close'] as const)(
    '%s does not wait for a stalled log after its deadline',
    async (method) => {
      const writer = { write: () => {}, flush: pending, close: pending };
      const reporter = createReporter({ service: SERVICE, log: writer });
      reporter.attack(ATTACK);
      expect(await reporter[method]({ deadlineMs: 20 })).toMatchObject({
        logError: { code: 'ERR_WRITE_FAILED' },
      });
    },
  );

  test('happens at the end of an `await using` scope', async () => {
    const { reporter } = openReporter();
    await reporter[Symbol.asyncDispose]();
    expect(reporter.attack(ATTACK).record).toBeUndefined();
  });
});

test.each([[Number.NaN], [Number.POSITIVE_INFINITY], [-1], ['1000']])(
  'close rejects an invalid deadline, and can be called again: %s',
  async (deadlineMs) => {
    const { reporter, records } = openReporter();
    const refused = expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['deadlineMs'] });
    await expect(reporter.close({ deadlineMs } as never)).rejects.toThrow(refused);
    reporter.attack(ATTACK);
    expect(records()).toHaveLength(1);
    expect(await reporter.close()).toMatchObject({ returned: [] });
    await expect(reporter.flush({ signal: 1 as never })).rejects.toThrow(
      expect.objectContaining({ path: ['signal'] }),
    );
    await expect(reporter.flush({ deadlineMs } as never)).rejects.toThrow(refused);
  },
);

test('flush does not wait for later events', async () => {
  const { reporter } = await openSendingReporter();
  reporter.attack(ATTACK);
  const over = new AbortController();
  const busy = (async () => {
    while (!over.signal.aborted) await reporter.attack(ATTACK).settled;
  })();
  await reporter.flush();
  over.abort();
  await busy;
  expect((await reporter.stats()).accepted).toBeGreaterThan(0);
});

test('a playbook is selected by the slug that is reported', async () => {
  const receiver = await openReceiver();
  const application = {
    name: 'shop',
    environment: 'production',
    url: receiver.url,
    secret: SECRET,
  };
  const { reporter } = openReporter({
    webhook: {
      settings: { applications: { 'shop-1': { ...application, playbooks: { other: true } } } },
      network: 'allow-private',
    },
  });
  const receipt = reporter.playbookTrigger({ name: 'Block IPs', playbook_slug: 'other' });
  expect(await receipt.settled).toEqual({ outcome: 'delivered' });
  const skipped = reporter.playbookTrigger({ name: 'Block IPs' });
  expect(await skipped.settled).toEqual({ outcome: 'skipped', reason: 'playbook-not-selected' });
});

test.each(['signal', 'deadlineMs'])(
  'flush resolves with the number of pending messages at its %s',
  async (limit) => {
    const { reporter, receiver } = await openSendingReporter({}, { otherwise: { status: 500 } });
    reporter.attack(ATTACK);
    await receiver.waitForRequests(1);
    const stop = new AbortController();
    const flushed = reporter.flush(
      limit === 'signal' ? { signal: stop.signal } : { deadlineMs: 20 },
    );
    if (limit === 'signal') stop.abort();
    // The first attempt may have failed by then, or not.
    const failed = [{ applicationId: 'shop-1', status: 500 }];
    const { failures = failed, ...counts } = await flushed;
    expect(failures).toEqual(failed);
    expect(counts).toEqual({ ...NOTHING_FLUSHED, pending: 1 });
  },
);

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
    expect(await reporter.stats()).toMatchObject({
      written: 0,
      outsideStrict: 0,
      rejected: { log: 1 },
    });
  });
});

/** Whose application is sent what `waf` has detected, and nothing else. */
async function selecting() {
  const receiver = await openReceiver();
  const application = { name: 'shop', environment: 'production', secret: SECRET };
  const settings = {
    applications: { 'shop-1': { ...application, url: receiver.url, modules: { waf: true } } },
  };
  return openReporter({ webhook: { settings, network: 'allow-private' } });
}

describe('a derived reporter', () => {
  test('reports its module, unless a call names another', async () => {
    const { reporter } = await selecting();
    const skipped = { outcome: 'skipped', reason: 'module-not-selected' };
    const waf = reporter.with({ module: 'waf' });
    expect(await waf.attack(ATTACK).settled).toEqual({ outcome: 'delivered' });
    expect(await waf.incident(INCIDENT).settled).toEqual({ outcome: 'delivered' });
    expect(await waf.attack(ATTACK, { module: 'rasp' }).settled).toEqual(skipped);
    const rasp = waf.with({ module: 'rasp' });
    expect(await rasp.attack(ATTACK).settled).toEqual(skipped);
    expect(await rasp.attack(ATTACK, { module: 'waf' }).settled).toEqual({ outcome: 'delivered' });
    expect(await waf.attack(ATTACK).settled).toEqual({ outcome: 'delivered' });
  });

  test('shares the channels and counters of its parent, and is closed with it', async () => {
    const { reporter, records } = await selecting();
    const waf = reporter.with({ module: 'waf' });
    expect('close' in waf || Symbol.asyncDispose in waf).toBe(false);
    waf.attack(ATTACK);
    reporter.userLogin({ success: true });
    expect(records()).toHaveLength(2);
    expect(await waf.stats()).toEqual(await reporter.stats());
    expect((await waf.stats()).reported).toBe(2);
    expect(await waf.flush()).toEqual({ ...NOTHING_FLUSHED, delivered: 1 });
    await reporter.close();
    expect(await waf.attack(ATTACK).settled).toEqual({
      outcome: 'rejected',
      reason: 'ERR_REPORTER_CLOSED',
    });
  });

  test('passes the caller’s context to onRejected', () => {
    const contexts: unknown[] = [];
    const { reporter } = openReporter({ onRejected: ({ context }) => contexts.push(context) });
    const context = { module: 'rasp' };
    reporter.with({ module: 'waf' }).attack({ ruleset: '' }, context);
    reporter.with({ module: 'waf' }).attack({ ruleset: '' });
    expect(contexts).toEqual([context, {}]);
    expect(contexts[0]).toBe(context);
  });

  test.each([
    [undefined, []],
    [{ module: '' }, ['module']],
    [{ module: 7 }, ['module']],
    [{ modul: 'waf' }, ['modul']],
  ])('is rejected for invalid options: %j', (options, path) => {
    const { reporter } = openReporter();
    expect(() => reporter.with(options as never)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path }),
    );
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
  ])('is the protection with the options %j', (options, name) => {
    const { reporter, records } = openReporter({ ...options, dialect: 'strict' });
    reporter.vulnerabilityExploit({ protection: 'lfi' });
    expect(records().map((record) => record.event_name)).toEqual([name]);
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

  test('is not reported on channel B', async () => {
    const { reporter, messages } = await openSendingReporter({ suffix: true });
    await reporter.vulnerabilityExploit({ protection: 'lfi' }).settled;
    expect(messages()[0]).toMatchObject({ message: { event_kind: 'lfi' } });
  });
});

test('urlFrom encodes ids of any characters', () => {
  const template = 'https://events.example/{id}?again={id}';
  expect(urlFrom(template, 'a b/ü')).toBe(
    'https://events.example/a%20b%2F%C3%BC?again=a%20b%2F%C3%BC',
  );
  expect(urlFrom('https://x.example/{id}', '\ud800x\udc00 \u{1f600}')).toBe(
    'https://x.example/%EF%BF%BDx%EF%BF%BD%20%F0%9F%98%80',
  );
});

test.runIf(process.platform === 'linux')(
  'createReporter closes the log file when the webhook options are invalid',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reporter-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const destination = join(folder, 'security.log');
    const options = { service: SERVICE, log: { destination }, webhook: { url: 'nonsense' } };
    expect(() => createReporter(options as never)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^ERR_INVALID_/) }),
    );
    expect(existsSync(destination)).toBe(true);
    await expect.poll(openFiles).not.toContain(destination);
  },
);

/** Of this process. */
function openFiles(): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/self/fd/${descriptor}`)];
    } catch {
      // The one that listed them.
      return [];
    }
  });
}

describe('a disabled reporter', () => {
  test('skips every event without reading it', async () => {
    const reporter = createReporter({ service: SERVICE, enabled: false });
    const unread = new Proxy({}, { get: () => expect.unreachable() });
    const receipt = reporter.attack(unread as never, unread);
    expect(await receipt.settled).toEqual({ outcome: 'skipped', reason: 'disabled' });
    expect(reporter.incident(unread as never)).toBe(receipt);
    expect(reporter.with(unread as never).attack(unread as never)).toBe(receipt);
    expect((await reporter.stats()).reported).toBe(0);
    expect(await reporter.flush()).toEqual(NOTHING_FLUSHED);
    expect(await reporter.close()).toMatchObject({ returned: [], remaining: 0 });
    await reporter[Symbol.asyncDispose]();
  });
});

test.each([
  ['an object with `write`', { write: () => {} }],
  ['process.stdout', process.stdout],
  ['a pino logger', pino({ enabled: false })],
])('log: %s is refused, and the error says where a destination belongs', (_what, log) => {
  expect(() => createReporter({ service: SERVICE, log: log as never })).toThrow(
    expect.objectContaining({
      path: ['log'],
      message: expect.stringContaining('expected a destination as `log: { destination }`'),
    }),
  );
});

test('log: false reports on channel B only', async () => {
  const { reporter } = await openSendingReporter({ log: false });
  const receipt = reporter.attack(ATTACK);
  expect(await receipt.settled).toEqual({ outcome: 'delivered' });
  expect(receipt.record).toBeUndefined();
  expect(await reporter.stats()).toMatchObject({ written: 0, accepted: 1, rejected: { log: 0 } });
});

describe('options', () => {
  test.each([
    [{}, ['service']],
    [{ service: 7 }, ['service']],
    [{ service: { ...SERVICE, svc_id: '' } }, ['service', 'svc_id']],
    [{ service: { svc_id: 'a', name: 'b' } }, ['service', 'env']],
    [{ service: { ...SERVICE, envs: 'x' } }, ['service', 'envs']],
    [{ service: SERVICE, log: 1 }, ['log']],
    [{ service: SERVICE, log: { path: 'x' } }, ['log', 'path']],
    [{ service: SERVICE, log: { dialect: 'strict' } }, ['log', 'dialect']],
    [{ service: SERVICE, log: { sync: 1 } }, ['log', 'sync']],
    [{ service: SERVICE, log: { destination: '/' } }, ['log', 'destination']],
    [{ service: SERVICE, webhook: 'https://x.example' }, ['webhook']],
    [{ service: SERVICE, webhook: { url: 'https://x.example' } }, ['webhook', 'secret']],
    [{ service: SERVICE, webhook: { url: 'x', secret: 'y' } }, ['webhook', 'url']],
    [{ service: SERVICE, platform: 'splunk' }, ['platform']],
    [{ service: SERVICE, activeSpan: 1 }, ['activeSpan']],
    [{ service: SERVICE, dialect: 'loose' }, ['dialect']],
    [{ service: SERVICE, onRejected: 1 }, ['onRejected']],
    [{ service: SERVICE, beforeSend: 1 }, ['beforeSend']],
    [{ service: SERVICE, enabled: 'no' }, ['enabled']],
    [{ service: SERVICE, strict: 1 }, ['strict']],
    [{ service: SERVICE, context: {} }, ['context']],
    [{ service: SERVICE, enrichment: {} }, ['enrichment']],
    [{ service: SERVICE, suffix: 1 }, ['suffix']],
    [{ service: SERVICE, eventVocabulary: { xss: 1 } }, ['eventVocabulary', 'xss']],
    [{ service: SERVICE, incidentVocabulary: 1 }, ['incidentVocabulary']],
    [{ service: SERVICE, eventUrl: 'https://x.example/' }, ['eventUrl']],
    [{ service: SERVICE, eventUrl: '/{id}' }, ['eventUrl']],
    [{ service: SERVICE, incidents: {} }, ['incidents']],
    [{ service: SERVICE, webhooks: {} }, ['webhooks']],
  ])('are rejected by name if they are invalid: %j', (options, path) => {
    expect(() => createReporter(options as never)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^ERR_INVALID_/), path }),
    );
  });
});
