import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createEnrichment } from '../../src/capture/enrichers.ts';
import { createRequestCapture } from '../../src/capture/request-capture.ts';
import { identify } from '../../src/capture/request-scope.ts';
import { createMemoryIncidents } from '../../src/incident/memory-incidents.ts';
import { createLogWriter } from '../../src/log/writer.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { createReporter } from '../../src/reporter/create-reporter.ts';
import type { IncidentPayload } from '../../src/reporter/event-input.ts';
import type { ReporterOptions } from '../../src/reporter/reporter-options.ts';
import { createLineSink, type Receiver } from '../../src/testing/index.ts';
import { openReceiver, openSender, SECRET } from '../helpers/sender.ts';

const SERVICE = { svc_id: 'shop-1', name: 'shop', env: 'production' };
const ATTACK = { ruleset: 'sql_injection' } as const;
const INCIDENT: IncidentPayload = {
  incident_id: 'i-1',
  incident_type: 'sql_injection',
  name: 'SQL injection on shop',
  severity: 'major',
};

function opened(options: Partial<ReporterOptions> = {}) {
  const sink = createLineSink();
  const reporter = createReporter({
    service: SERVICE,
    log: { destination: sink },
    platform: false,
    ...options,
  });
  onTestFinished(async () => void (await reporter.close({ deadlineMs: 0 })));
  const records = () => sink.lines.map((line) => JSON.parse(line));
  return { reporter, records };
}

const webhookTo = ({ url }: Receiver) =>
  ({ url, secret: SECRET, network: 'allow-private' }) as const;

interface Element {
  readonly message_id: string;
  readonly message: Readonly<Record<string, unknown>>;
}

const messagesOf = ({ requests }: Receiver) =>
  requests.flatMap(({ body }) => JSON.parse(String(body)) as Element[]);

describe('the context of an event', () => {
  const REQUEST = {
    method: 'POST',
    url: '/login?next=%2F',
    headers: { host: 'shop.example' },
    socket: { remoteAddress: '203.0.113.9', remotePort: 4711 },
  };
  const inRequest = (work: () => void): void => createRequestCapture().run(REQUEST, work);

  test('is that of the current request, with the user that was identified', () => {
    const { reporter, records } = opened();
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
    ['another address, which is another actor', { ip: '203.0.113.10' }, null, '203.0.113.10'],
    ['nothing of its own', {}, { uid: 7 }, '203.0.113.9'],
  ])(
    'takes from the request what the call leaves out: %s',
    (_name, actor, identifiers, address) => {
      const { reporter, records } = opened();
      inRequest(() => {
        identify({ uid: 7 });
        reporter.attack(ATTACK, { actor });
      });
      expect(records()[0].context.actor).toMatchObject({ identifiers, ip: { address } });
    },
  );

  test('is empty outside of a request', () => {
    const { reporter, records } = opened();
    reporter.attack(ATTACK);
    expect(records()[0].context).toEqual({ service: SERVICE });
  });

  test('comes from the host’s own function, where there is one; what that throws counts as nothing', () => {
    const { reporter, records } = opened({
      context: () => createRequestCapture().contextOf(REQUEST),
    });
    reporter.attack(ATTACK);
    expect(records()[0].context.actor.ip.address).toBe('203.0.113.9');
    const failing = opened({
      context: () => {
        throw new Error('of the host');
      },
    });
    failing.reporter.attack(ATTACK);
    expect(failing.records()[0].context).toEqual({ service: SERVICE });
  });

  test('has the facts that enrichers know of an address that is text', () => {
    const enrichment = createEnrichment({ enrichers: [() => ({ tor: true })] });
    const { reporter, records } = opened({ enrichment });
    reporter.attack(ATTACK, { actor: { ip: '8.8.8.8' } });
    expect(records()[0].context.actor.ip.metadata.tor).toBe(true);
  });

  test.each([
    [new Date('2026-08-01T12:00:00Z'), '2026-08-01T12:00:00.000Z', '2026-08-01T12:00:00.000+00:00'],
    ['2026-08-01T14:00:00+02:00', '2026-08-01T14:00:00+02:00', '2026-08-01T12:00:00.000+00:00'],
  ])('has the time it is given: %s', async (detected_at, onLog, onWebhook) => {
    const receiver = await openReceiver();
    const { reporter, records } = opened({ webhook: webhookTo(receiver) });
    await reporter.attack(ATTACK, { detected_at }).settled;
    expect(records()[0].detected_at).toBe(onLog);
    expect(messagesOf(receiver)[0]?.message).toMatchObject({ date_occurred: onWebhook });
  });
});

describe('beforeSend', () => {
  test('changes what both channels are told', async () => {
    const receiver = await openReceiver();
    const { reporter, records } = opened({
      webhook: webhookTo(receiver),
      beforeSend: (record) => ({ ...record, payload: { ruleset: 'xss' } }),
    });
    const receipt = reporter.attack(ATTACK);
    await receipt.settled;
    expect(records()[0].payload).toEqual({ ruleset: 'xss' });
    expect(messagesOf(receiver)[0]?.message).toMatchObject({ event_kind: 'xss' });
  });

  test('that gives nothing has its changes told', () => {
    const { reporter, records } = opened({
      beforeSend: (record) => {
        record.payload['ruleset'] = 'xss';
      },
    });
    reporter.attack(ATTACK);
    expect(records()[0].payload).toEqual({ ruleset: 'xss' });
  });

  test('drops an event with null, and it is counted', async () => {
    const { reporter, records } = opened({ beforeSend: () => null });
    expect(await reporter.attack(ATTACK).settled).toEqual({
      outcome: 'skipped',
      reason: 'dropped',
    });
    expect(records()).toEqual([]);
    expect(reporter.stats()).toMatchObject({ reported: 1, dropped: 1, written: 0 });
  });

  test('that throws, or gives what is no record, rejects the event', () => {
    const rejected: string[] = [];
    const { reporter } = opened({
      onRejected: ({ error }) => rejected.push(error.code),
      beforeSend: (record) => {
        if (record.payload['ruleset'] === 'xss') return { evil: 1n };
        throw new Error('of the host');
      },
    });
    reporter.attack(ATTACK);
    reporter.attack({ ruleset: 'xss' });
    expect(rejected).toEqual(['ERR_INVALID_RECORD', 'ERR_INVALID_RECORD']);
  });
});

describe('what channel B is told', () => {
  test('goes by the tables that the reporter is given, and by what the call says', async () => {
    const receiver = await openReceiver();
    const { reporter } = opened({
      webhook: webhookTo(receiver),
      eventUrl: 'https://events.example/{id}?of={id}',
      eventWords: { xss: { kind: 'xss_stored' } },
    });
    await reporter.attack({ ruleset: 'xss' }, { webhook: { title: 'Script', message_id: 'm-1' } })
      .settled;
    const [element] = messagesOf(receiver);
    expect(element?.message_id).toBe('m-1');
    const id = String(element?.message['event_id']);
    expect(element?.message).toMatchObject({
      event_category: 'injection',
      event_kind: 'xss_stored',
      event_url: `https://events.example/${id}?of=${id}`,
      humanized_description: 'Script',
    });
  });

  test('is the message that the call gives, of any event', async () => {
    const receiver = await openReceiver();
    const { reporter } = opened({ webhook: webhookTo(receiver) });
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
    expect(messagesOf(receiver)[0]).toMatchObject({ message_type: 'security_event', message });
    const typeless = reporter.userLogin({ success: true }, { webhook: { message } });
    expect(await typeless.settled).toEqual({ outcome: 'skipped', reason: 'no-message-type' });
  });

  test('is nothing, where the call says so', async () => {
    const receiver = await openReceiver();
    const { reporter } = opened({ webhook: webhookTo(receiver) });
    const settled = [
      await reporter.attack(ATTACK, { webhook: false }).settled,
      await reporter.incident(INCIDENT, { webhook: false }).settled,
    ];
    expect(settled.map(({ reason }) => reason)).toEqual(['not-wanted', 'not-wanted']);
    expect(receiver.requests).toEqual([]);
  });
});

const eventTypes = (records: readonly { payload: { event_type: string } }[]) =>
  records.map(({ payload }) => payload.event_type);

const account = (uid: number) => ({
  svc_id: 'a',
  user_identifiers: { uid },
  ip_address: '203.0.113.1',
});

async function outOfOrder(): Promise<never> {
  throw new Error('out of order');
}

describe('an incident', () => {
  test('is created once and then updated, with what is new alone', async () => {
    const receiver = await openReceiver();
    const { reporter, records } = opened({ webhook: webhookTo(receiver) });
    const tell = (ips: string[], accounts: number[]) =>
      reporter.incident({
        ...INCIDENT,
        incident_type: 'unusual_volume_of_signin',
        related_ips: ips,
        compromised_accounts: accounts.map(account),
      }).settled;
    await tell(['203.0.113.1', '203.0.113.2'], [1]);
    await tell(['203.0.113.2', '203.0.113.3', '203.0.113.3'], [1, 2]);
    await tell(['203.0.113.1'], []);
    expect(eventTypes(records())).toEqual(['create', 'update', 'update']);
    expect(
      messagesOf(receiver).map(({ message }) => {
        const {
          incident_status,
          new_related_ips,
          new_compromised_accounts = [],
        } = message as never;
        return [
          incident_status,
          (new_related_ips as { address: string }[]).map(({ address }) => address.slice(-1)),
          (new_compromised_accounts as { user_identifiers: { uid: number } }[]).map(
            ({ user_identifiers }) => user_identifiers.uid,
          ),
        ];
      }),
    ).toEqual([
      ['created', ['1', '2'], [1]],
      ['updated', ['3'], [2]],
      ['updated', [], []],
    ]);
  });

  test('of which the first message is refused is created by the next', async () => {
    const receiver = await openReceiver();
    const { reporter } = opened({ webhook: webhookTo(receiver) });
    const broken = { ...INCIDENT, related_ips: [{ address: 'nonsense', metadata: {}, geo: {} }] };
    const outcomes = await Promise.all(
      [broken, INCIDENT, INCIDENT].map((payload) => reporter.incident(payload as never).settled),
    );
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['rejected', 'delivered', 'delivered']);
    expect(messagesOf(receiver).map(({ message }) => message['incident_status'])).toEqual([
      'created',
      'updated',
    ]);
  });

  test('is of the status that the call forces', async () => {
    const receiver = await openReceiver();
    const { reporter, records } = opened({ webhook: webhookTo(receiver) });
    await reporter.incident({ ...INCIDENT, event_type: 'update' }).settled;
    await reporter.incident({ ...INCIDENT, event_type: 'create' }).settled;
    expect(eventTypes(records())).toEqual(['update', 'create']);
    expect(messagesOf(receiver)).toMatchObject([
      { message: { incident_status: 'updated' } },
      { message: { incident_status: 'created' } },
    ]);
  });

  test.each([
    [{ ...INCIDENT, incident_type: 'targeted_attack' as const }, undefined, 'no-message-type'],
    [{ ...INCIDENT, incident_type: 'xss' as const }, { xss: null }, 'no-message-type'],
  ])(
    'without a type on channel B is told on channel A alone',
    async (payload, incidentWords, reason) => {
      const receiver = await openReceiver();
      const { reporter, records } = opened({
        webhook: webhookTo(receiver),
        ...(incidentWords === undefined ? {} : { incidentWords }),
      });
      expect(await reporter.incident(payload).settled).toEqual({ outcome: 'skipped', reason });
      expect(eventTypes(records())).toEqual(['create']);
    },
  );

  test('has in format v1 the genre of its type, and the URL of the reporter', async () => {
    const receiver = await openReceiver();
    const { reporter } = opened({
      webhook: { ...webhookTo(receiver), format: 1 },
      eventUrl: 'https://events.example/{id}',
    });
    const payload = { ...INCIDENT, incident_type: 'failed_auth_peak' as const };
    await reporter.incident(payload, { webhook: { v1: { blocked: true } } }).settled;
    expect(messagesOf(receiver)[0]).toMatchObject({
      pulse_genre: 'failed_auth_peak',
      url: 'https://events.example/i-1',
      blocked: true,
    });
  });

  test('waits for a store of promises, in its order, and other events do not', async () => {
    const memory = createMemoryIncidents();
    const { reporter, records } = opened({
      incidents: {
        tell: async (report) => {
          await wait(1);
          return memory.tell(report);
        },
        retract: async (report, news) => memory.retract(report, news),
      },
    });
    const receipts = [reporter.incident(INCIDENT), reporter.incident(INCIDENT)];
    reporter.attack(ATTACK);
    expect(receipts.map(({ record }) => record)).toEqual([undefined, undefined]);
    expect(records()).toHaveLength(1);
    await reporter.flush();
    expect(eventTypes(records().slice(1))).toEqual(['create', 'update']);
  });

  test('of a store that fails comes back, and nothing is thrown', async () => {
    const rejected: string[] = [];
    const receiver = await openReceiver();
    const { reporter } = opened({
      webhook: webhookTo(receiver),
      onRejected: ({ channel, error }) => rejected.push(`${channel} ${error.code}`),
      incidents: { tell: outOfOrder, retract: outOfOrder },
    });
    const { settled } = reporter.incident(INCIDENT);
    expect(await settled).toEqual({ outcome: 'rejected', reason: 'ERR_QUEUE_FAILED' });
    await reporter.flush();
    expect(rejected.toSorted()).toEqual(['log ERR_QUEUE_FAILED', 'webhook ERR_QUEUE_FAILED']);
  });
});

describe('a receipt', () => {
  test('tells that a message died, and of what', async () => {
    const receiver = await openReceiver({ otherwise: { status: 400 } });
    const { reporter } = opened({
      webhook: { ...webhookTo(receiver), schedule: { delaysMs: [] } },
    });
    expect(await reporter.attack(ATTACK).settled).toEqual({
      outcome: 'dead',
      reason: 'attempts-exhausted',
    });
  });

  test('tells that another process delivers', async () => {
    const receiver = await openReceiver();
    const { reporter } = opened({
      webhook: { ...webhookTo(receiver), queue: createMemoryQueue(), role: 'enqueue' },
    });
    expect(await reporter.attack(ATTACK).settled).toEqual({ outcome: 'accepted' });
  });

  test('has one promise, whoever asks', () => {
    const { reporter } = opened();
    const receipt = reporter.attack(ATTACK);
    expect(receipt.settled).toBe(receipt.settled);
  });
});

describe('the end of a reporter', () => {
  test('delivers what it can, and rejects what comes after', async () => {
    const receiver = await openReceiver();
    const rejected: string[] = [];
    const { reporter, records } = opened({
      webhook: webhookTo(receiver),
      onRejected: ({ channel, error }) => rejected.push(`${channel} ${error.code}`),
    });
    reporter.attack(ATTACK);
    reporter.incident(INCIDENT);
    const closing = reporter.close();
    expect(reporter.close()).toBe(closing);
    const receipt = reporter.attack(ATTACK);
    expect(await closing).toEqual({ delivered: 2, dead: 0, discarded: 0, returned: [], left: 0 });
    expect(await receipt.settled).toEqual({ outcome: 'rejected', reason: 'ERR_REPORTER_CLOSED' });
    expect(rejected).toEqual(['log ERR_REPORTER_CLOSED', 'webhook ERR_REPORTER_CLOSED']);
    expect(records()).toHaveLength(2);
  });

  test('hands back what was not delivered', async () => {
    const receiver = await openReceiver({ otherwise: { status: 500 } });
    const { reporter } = opened({ webhook: webhookTo(receiver) });
    const { settled, message_id } = reporter.attack(ATTACK);
    await receiver.waitForRequests(1);
    const { returned } = await reporter.close({ deadlineMs: 0 });
    expect(returned.map((message) => message.message_id)).toEqual([message_id]);
    expect(await settled).toEqual({ outcome: 'discarded', reason: 'returned' });
  });

  test('leaves the writer and the sender open that it was given', async () => {
    const receiver = await openReceiver();
    const sink = createLineSink();
    const log = createLogWriter<'open'>({ destination: sink, dialect: 'open' });
    const sender = openSender(webhookTo(receiver));
    const { reporter } = opened({ log, webhook: sender });
    expect(await reporter.attack(ATTACK).settled).toEqual({ outcome: 'delivered' });
    expect(await reporter.close()).toEqual({
      delivered: 0,
      dead: 0,
      discarded: 0,
      returned: [],
      left: 0,
    });
    log.write(JSON.parse(sink.lines[0] ?? ''));
    expect(sink.lines).toHaveLength(2);
    expect((await sender.stats()).delivered).toBe(1);
  });

  test('tells what the log could not do, beside the rest', async () => {
    const log = {
      write: () => {},
      flush: () => Promise.reject(new Error('EIO')),
      close: () => Promise.reject(new Error('EIO')),
    };
    const { reporter } = opened({ log });
    const logError = expect.objectContaining({ code: 'ERR_WRITE_FAILED' });
    expect(await reporter.flush()).toEqual({
      delivered: 0,
      dead: 0,
      discarded: 0,
      pending: 0,
      logError,
    });
    expect(await reporter.close()).toMatchObject({ logError });
  });

  test('comes with its scope', async () => {
    const { reporter } = opened();
    await reporter[Symbol.asyncDispose]();
    expect(reporter.attack(ATTACK).record).toBeUndefined();
  });
});

test.each([[Number.NaN], [Number.POSITIVE_INFINITY], [-1], ['1000']])(
  'a deadline that is none is refused, and the reporter can still be closed: %s',
  async (deadlineMs) => {
    const { reporter, records } = opened();
    const refused = expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['deadlineMs'] });
    await expect(reporter.close({ deadlineMs } as never)).rejects.toThrow(refused);
    reporter.attack(ATTACK);
    expect(records()).toHaveLength(1);
    expect(await reporter.close()).toMatchObject({ returned: [] });
    await expect(reporter.flush({ signal: 1 as never })).rejects.toThrow(
      expect.objectContaining({ path: ['signal'] }),
    );
  },
);

test('flush does not wait for what is reported after it', async () => {
  const receiver = await openReceiver();
  const { reporter } = opened({ webhook: webhookTo(receiver) });
  reporter.attack(ATTACK);
  const over = new AbortController();
  const busy = (async () => {
    while (!over.signal.aborted) await reporter.attack(ATTACK).settled;
  })();
  await reporter.flush();
  over.abort();
  await busy;
  expect(reporter.stats().accepted).toBeGreaterThan(0);
});

test('a playbook is selected by the slug that is told', async () => {
  const receiver = await openReceiver();
  const application = {
    name: 'shop',
    environment: 'production',
    url: receiver.url,
    secret: SECRET,
  };
  const { reporter } = opened({
    webhook: {
      settings: { applications: { 'shop-1': { ...application, playbooks: { other: true } } } },
      network: 'allow-private',
    },
  });
  const told = reporter.playbookTrigger({ name: 'Block IPs', playbook_slug: 'other' });
  expect(await told.settled).toEqual({ outcome: 'delivered' });
  const skipped = reporter.playbookTrigger({ name: 'Block IPs' });
  expect(await skipped.settled).toEqual({ outcome: 'skipped', reason: 'playbook-not-selected' });
});

test('flush ends with its signal, and says what is left', async () => {
  const receiver = await openReceiver({ otherwise: { status: 500 } });
  const { reporter } = opened({ webhook: webhookTo(receiver) });
  reporter.attack(ATTACK);
  await receiver.waitForRequests(1);
  const stop = new AbortController();
  const flushed = reporter.flush({ signal: stop.signal });
  stop.abort();
  expect(await flushed).toEqual({ delivered: 0, dead: 0, discarded: 0, pending: 1 });
});

describe('what follows the open dialect alone', () => {
  const IPV6 = { actor: { ip: '2001:db8::7' } };

  test('is written and counted', () => {
    const { reporter, records } = opened();
    expect(reporter.attack(ATTACK, IPV6).record).toMatchObject({ payload: ATTACK });
    reporter.attack({ ruleset: 'a_new_word' });
    reporter.attack(ATTACK);
    expect(records()).toHaveLength(3);
    expect(reporter.stats()).toMatchObject({ written: 3, outsideStrict: 2 });
  });

  test('comes back where the dialect is strict', () => {
    const { reporter, records } = opened({ dialect: 'strict' });
    reporter.attack(ATTACK, IPV6);
    expect(records()).toEqual([]);
    expect(reporter.stats()).toMatchObject({ written: 0, outsideStrict: 0, rejected: { log: 1 } });
  });
});

describe('a reporter that is not enabled', () => {
  test('does nothing, and looks at nothing', async () => {
    const reporter = createReporter({ service: SERVICE, enabled: false });
    const unread = new Proxy({}, { get: () => expect.unreachable() });
    const receipt = reporter.attack(unread as never, unread);
    expect(await receipt.settled).toEqual({ outcome: 'skipped', reason: 'disabled' });
    expect(reporter.incident(unread as never)).toBe(receipt);
    expect(reporter.stats().reported).toBe(0);
    expect(await reporter.flush()).toEqual({ delivered: 0, dead: 0, discarded: 0, pending: 0 });
    expect(await reporter.close()).toMatchObject({ returned: [], left: 0 });
    await reporter[Symbol.asyncDispose]();
  });
});

test('log: false tells channel B alone', async () => {
  const receiver = await openReceiver();
  const { reporter } = opened({ log: false, webhook: webhookTo(receiver) });
  const receipt = reporter.attack(ATTACK);
  expect(await receipt.settled).toEqual({ outcome: 'delivered' });
  expect(receipt.record).toBeUndefined();
  expect(reporter.stats()).toMatchObject({ written: 0, accepted: 1, rejected: { log: 0 } });
});

describe('options', () => {
  test.each([
    [{}, ['service']],
    [{ service: 7 }, ['service']],
    [{ service: { ...SERVICE, svc_id: '' } }, ['service', 'svc_id']],
    [{ service: { svc_id: 'a', name: 'b' } }, ['service', 'env']],
    [{ service: { ...SERVICE, envs: 'x' } }, ['service', 'envs']],
    [{ service: SERVICE, log: 1 }, ['log']],
    [{ service: SERVICE, log: { path: 'x' } }, ['path']],
    [{ service: SERVICE, webhook: 'https://x.example' }, ['webhook']],
    [{ service: SERVICE, webhook: { url: 'https://x.example' } }, ['secret']],
    [{ service: SERVICE, platform: 'splunk' }, ['platform']],
    [{ service: SERVICE, activeSpan: 1 }, ['activeSpan']],
    [{ service: SERVICE, dialect: 'loose' }, ['dialect']],
    [{ service: SERVICE, onRejected: 1 }, ['onRejected']],
    [{ service: SERVICE, beforeSend: 1 }, ['beforeSend']],
    [{ service: SERVICE, enabled: 'no' }, ['enabled']],
    [{ service: SERVICE, strict: 1 }, ['strict']],
    [{ service: SERVICE, context: {} }, ['context']],
    [{ service: SERVICE, enrichment: {} }, ['enrichment']],
    [{ service: SERVICE, eventWords: { xss: 1 } }, ['eventWords']],
    [{ service: SERVICE, incidentWords: 1 }, ['incidentWords']],
    [{ service: SERVICE, eventUrl: 'https://x.example/' }, ['eventUrl']],
    [{ service: SERVICE, eventUrl: '/{id}' }, ['eventUrl']],
    [{ service: SERVICE, incidents: {} }, ['incidents']],
    [{ service: SERVICE, webhooks: {} }, ['webhooks']],
  ])('that cannot be used are refused by name: %j', (options, path) => {
    expect(() => createReporter(options as never)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^ERR_INVALID_/), path }),
    );
  });
});
