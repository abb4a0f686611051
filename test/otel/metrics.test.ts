import { channel } from 'node:diagnostics_channel';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { describe, expect, test } from 'vitest';
import { SecurityEventError } from '../../src/errors.ts';
import { createLogWriter, createReporter, type WebhookSender } from '../../src/index.ts';
import { registerMetrics } from '../../src/otel/index.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { createFakeClock, createLineSink } from '../../src/testing/index.ts';
import { smallRecord } from '../helpers/log-records.ts';
import { wrapQueue } from '../helpers/queues.ts';
import {
  applicationsOf,
  listen,
  message,
  messages,
  openReceiver,
  openSender,
  senderTo,
} from '../helpers/sender.ts';
import { registered } from './registered.ts';

const silent = { write: (): void => {} };
const service = { svc_id: 's', name: 'shop', env: 'test' };
const GIVE_UP = { schedule: { delaysMs: [] } } as const;

/** Sends messages, and waits until they are settled. */
async function deliver(sender: WebhookSender, given = [message('m-1')]) {
  await sender.send(given);
  await sender.flush();
}

describe('metrics of messages', () => {
  test('count accepted and settled messages by application class', async () => {
    const { series } = registered({ applicationClass: ['shop-1'] });
    const rejecting = await openReceiver({ script: [{ status: 400 }] });
    const settings = applicationsOf({ 'shop-1': await openReceiver(), 'shop-2': rejecting });
    const sender = openSender({ ...GIVE_UP, settings });
    await deliver(sender, [...messages(3), message('m-9', 'shop-2')]);
    await sender.purge();
    expect(await series('security_events.messages.accepted')).toEqual([
      [{ 'application.class': 'shop-1' }, 3],
      [{ 'application.class': '_OTHER' }, 1],
    ]);
    expect(await series('security_events.messages.settled')).toEqual(
      expect.arrayContaining([
        [{ outcome: 'delivered', 'application.class': 'shop-1' }, 3],
        [{ outcome: 'dead', reason: 'attempts-exhausted', 'application.class': '_OTHER' }, 1],
        [{ outcome: 'discarded', reason: 'purged' }, 1],
      ]),
    );
  });

  test('count messages that are skipped', async () => {
    const { series } = registered();
    const { applications } = applicationsOf({ 'shop-1': await openReceiver() });
    const shop = { ...applications['shop-1'], modules: { waf: true } };
    const sender = openSender({ settings: { applications: { 'shop-1': shop } } as never });
    await sender.send([message('m-1')], { module: 'rasp' });
    expect(await series('security_events.messages.skipped')).toEqual([
      [{ reason: 'module-not-selected' }, 1],
    ]);
  });

  test('count a message once when it is resent after its lease expired', async () => {
    const { series } = registered();
    const memory = createMemoryQueue();
    let calls = 0;
    const queue = wrapQueue(memory, {
      settle: async (claim, results, state) => {
        calls += 1;
        if (calls > 1) return await memory.settle(claim, results, state);
        // As if its lease had expired.
        await memory.release(claim, state);
        return 'lost';
      },
    });
    const sender = senderTo(await openReceiver(), { queue });
    await deliver(sender);
    expect(await series('security_events.messages.settled')).toEqual([
      [{ outcome: 'delivered' }, 1],
    ]);
    expect(await series('security_events.attempt.duration')).toMatchObject([[{}, { count: 2 }]]);
  });

  test('have the duration of requests in seconds, in the buckets of the conventions', async () => {
    const { metrics, series } = registered();
    const statuses = [200, 404, 599];
    const receivers = await Promise.all(
      statuses.map((status) => openReceiver({ script: [{ status }] })),
    );
    for (const receiver of [...receivers, { url: 'http://127.0.0.1:1' }]) {
      await deliver(senderTo(receiver, GIVE_UP));
    }
    const name = 'security_events.attempt.duration';
    const found = await series(name);
    expect(found.map(([labels]) => labels)).toEqual([
      { outcome: 'delivered', 'http.response.status_code': 200 },
      { outcome: 'later', 'http.response.status_code': 404, 'error.type': '404' },
      { outcome: 'later', 'error.type': '_OTHER' },
      { outcome: 'later', 'error.type': 'connection-refused' },
    ]);
    const [[, value] = []] = found;
    const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
    expect(value).toMatchObject({ count: 1, buckets: { boundaries } });
    expect((value as { sum: number }).sum).toBeLessThan(25);
    const metric = (await metrics()).find(({ descriptor }) => descriptor.name === name);
    expect(metric?.descriptor.unit).toBe('s');
  });
});

describe('metrics of destinations', () => {
  test('count changes of circuit breakers', async () => {
    const { series } = registered();
    const receiver = await openReceiver({ script: [{ status: 500 }, { status: 200 }] });
    const schedule = { delaysMs: [1, 1] };
    const sender = senderTo(receiver, { openAfterFailures: 1, minProbeWaitMs: 1, schedule });
    await deliver(sender);
    expect(await series('security_events.breaker.changes')).toEqual([
      [{ change: 'opened' }, 1],
      [{ change: 'probing' }, 1],
      [{ change: 'recovered' }, 1],
    ]);
  });

  test('say why a destination is missing, so that an alert can leave out disabled ones', async () => {
    const published = listen();
    const { series } = registered();
    const receiver = await openReceiver();
    const { applications } = applicationsOf({ 'shop-1': receiver, 'shop-2': receiver });
    const disabled = { ...applications['shop-1'], enabled: false };
    const other = { name: '2', environment: '' };
    const settings = { applications: { 'shop-1': disabled, 'shop-2': other } };
    await openSender({ settings, role: 'both' }).send([message('m-1')]);
    await published.until('destination-missing');
    expect(await series('security_events.breaker.changes')).toEqual([
      [{ change: 'missing', reason: 'disabled' }, 1],
    ]);
  });

  test('count faults of queues and settings', async () => {
    const { series } = registered();
    const faults = ['stalled', 'queue-failed', 'queue-damaged', 'settings-failed'];
    for (const fault of faults) channel(`security-event-delivery:${fault}`).publish({});
    const found = await series('security_events.faults');
    expect(found).toEqual(faults.map((fault) => [{ fault }, 1]));
  });
});

describe('metrics of queues', () => {
  test('show pending messages, their age and the states of destinations', async () => {
    const published = listen();
    const receiver = await openReceiver({ script: [{ status: 500 }] });
    const sender = senderTo(receiver, { schedule: { delaysMs: [600_000] } });
    const { series } = registered({
      senders: { main: sender },
      applicationClass: (id) => id.slice(0, 4),
    });
    await sender.send(messages(2));
    await published.until('attempt-settled');
    expect(await series('security_events.queue.messages')).toEqual([
      [{ 'application.class': 'shop', sender: 'main' }, 2],
    ]);
    expect(await series('security_events.queue.age')).toEqual([[{ sender: 'main' }, 0]]);
    expect(await series('security_events.queue.dead_letters')).toEqual([[{ sender: 'main' }, 0]]);
    const [[, bytes] = []] = await series('security_events.queue.size');
    expect(bytes).toBe((await sender.stats()).pendingBytes);
    expect(await series('security_events.destinations')).toEqual([
      [{ state: 'untried', sender: 'main' }, 0],
      [{ state: 'healthy', sender: 'main' }, 0],
      [{ state: 'failing', sender: 'main' }, 1],
      [{ state: 'closed', sender: 'main' }, 0],
    ]);
  });

  test('omit a sender that fails and keep the others', async () => {
    const failing = { stats: () => Promise.reject(new Error('closed')) };
    const sender = senderTo(await openReceiver());
    const { series } = registered({ senders: { failing, main: sender } });
    expect(await series('security_events.queue.size')).toEqual([[{ sender: 'main' }, 0]]);
  });

  test('wait two seconds for a sender whose queue hangs, and count each time as a fault', async () => {
    const clock = createFakeClock();
    const hanging = { stats: () => new Promise<never>(() => {}) };
    const sender = senderTo(await openReceiver());
    const { series } = registered({ senders: { hanging, main: sender } }, clock);
    const collected = series('security_events.queue.size');
    await clock.advance(2000);
    expect(await collected).toEqual([[{ sender: 'main' }, 0]]);
    const faults = series('security_events.faults');
    await clock.advance(2000);
    expect(await faults).toEqual([[{ fault: 'queue-failed' }, 2]]);
  });

  test('count a queue that fails as a fault, but not a closed one', async () => {
    const failing = { stats: () => Promise.reject(new SecurityEventError('ERR_QUEUE_FAILED')) };
    const closed = { stats: () => Promise.reject(new SecurityEventError('ERR_QUEUE_CLOSED')) };
    const { series } = registered({ senders: { failing, closed } });
    expect(await series('security_events.faults')).toEqual([[{ fault: 'queue-failed' }, 1]]);
  });
});

describe('metrics of records', () => {
  test('count records by event name, without the protection of an exploit', async () => {
    const { series } = registered();
    const reporter = createReporter({ service, log: { destination: silent } });
    reporter.attack({ ruleset: 'xss' });
    reporter.userLogin({ success: true });
    reporter.userLogin({ success: false });
    const exploit = { ...smallRecord(), event_name: 'svc.ev0.threat.vulnerability_exploit.ssrf' };
    const writer = createLogWriter({ destination: silent });
    writer.write({ ...exploit, payload: { protection: 'ssrf' } } as never);
    const written = channel('security-event-delivery:record-written');
    written.publish({ event_name: 'svc.ev0.incidents' });
    written.publish({ event_name: 1 });
    expect(await series('security_events.records.written')).toEqual([
      [{ 'event.name': 'svc.ev0.threat.attack' }, 1],
      [{ 'event.name': 'svc.ev0.user_event.login' }, 2],
      [{ 'event.name': 'svc.ev0.threat.vulnerability_exploit' }, 1],
      [{ 'event.name': '_OTHER' }, 2],
    ]);
    await reporter.close();
  });

  test('count lost records, and events that a reporter rejects', async () => {
    const { series } = registered();
    const destination = createLineSink({ failWith: () => new Error('full') });
    const reporter = createReporter({ service, log: { destination } });
    reporter.attack({ ruleset: 'xss' });
    reporter.attack({ ruleset: 1 as never });
    const writer = createLogWriter({ destination: silent });
    expect(() => writer.write({} as never)).toThrow('does not follow the contract');
    expect(await series('security_events.records.lost')).toEqual([
      [{ reason: 'failed' }, 1],
      [{ reason: 'refused' }, 1],
    ]);
    expect(await series('security_events.events.rejected')).toEqual([
      [{ channel: 'log', 'error.type': 'ERR_WRITE_FAILED' }, 1],
      [{ channel: 'log', 'error.type': 'ERR_INVALID_RECORD' }, 1],
    ]);
    expect(await series('security_events.records.written')).toEqual([]);
    await reporter.close();
  });
});

describe('a class of applications', () => {
  test.each([
    ['beyond a hundred', (id: string) => id, 101],
    ['of a function that throws', () => JSON.parse('{'), 1],
    ['that is not a string', () => 7, 1],
  ] as const)('%s is _OTHER', async (_, applicationClass, count) => {
    const { series } = registered({ applicationClass: applicationClass as never });
    for (let index = 0; index < 101; index += 1) {
      const event = { applicationId: `shop-${index}`, count: 1 };
      channel('security-event-delivery:accepted').publish(event);
    }
    const found = await series('security_events.messages.accepted');
    expect(found).toHaveLength(count);
    expect(found.at(-1)?.[0]).toEqual({ 'application.class': '_OTHER' });
  });
});

describe('registerMetrics', () => {
  test.each([
    [undefined, {}, 'meterProvider'],
    [{}, {}, 'meterProvider'],
    [new MeterProvider(), { senders: { main: {} } }, 'senders'],
    [new MeterProvider(), { applicationClass: 'shop' }, 'applicationClass'],
    [new MeterProvider(), { applicationClass: Array(1001).fill('shop') }, 'applicationClass'],
    [new MeterProvider(), { sender: {} }, 'sender'],
  ])('rejects %s with %j', (provider, options, option) => {
    expect(() => registerMetrics(provider as never, options as never)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [option] }),
    );
  });

  test('rejects a sender in place of the options, and says what to pass', async () => {
    const sender = senderTo(await openReceiver());
    expect(() => registerMetrics(new MeterProvider(), sender as never)).toThrow(
      'expected options: pass a sender as `{ senders: { main: sender } }`',
    );
    await sender.close();
  });

  test('replaces the metrics of an earlier call for the same provider', async () => {
    const sender = senderTo(await openReceiver());
    const { provider, series } = registered({ senders: { before: sender } });
    const stop = registerMetrics(provider, { senders: { main: sender } });
    createLogWriter({ destination: silent }).write(smallRecord());
    await deliver(sender, messages(2));
    expect(await series('security_events.messages.accepted')).toEqual([[{}, 2]]);
    expect(await series('security_events.records.written')).toEqual([[expect.anything(), 1]]);
    expect(await series('security_events.queue.size')).toEqual([[{ sender: 'main' }, 0]]);
    stop();
  });

  test('returns a function that stops everything', async () => {
    const sender = senderTo(await openReceiver());
    const { stop, metrics } = registered({ senders: { main: sender } });
    stop();
    createLogWriter({ destination: silent }).write(smallRecord());
    await deliver(sender);
    expect((await metrics()).filter(({ dataPoints }) => dataPoints.length > 0)).toEqual([]);
  });
});
