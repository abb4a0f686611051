/** An error in a host's code has a stack that the host can read: few of its frames are this library's. */
import { context as otelContext } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createEnrichment } from '../src/capture/index.ts';
import { createLogWriter, createReporter, createWebhookSender, sendWebhook } from '../src/index.ts';
import { createMemoryQueue } from '../src/queue/memory.ts';
import { DRAFTS, RECORDS } from './contract/samples.ts';

const MAX_FRAMES = 12;
const DESTINATION = { url: 'http://receiver.example/', secret: 'key' };
const SERVICE = { svc_id: 'shop-1', name: 'shop', env: 'production' };

const { stackTraceLimit } = Error;
beforeEach(() => {
  Error.stackTraceLimit = Number.POSITIVE_INFINITY;
});
afterEach(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

function useOpenTelemetry(): void {
  otelContext.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  onTestFinished(() => otelContext.disable());
}

interface Host {
  readonly called: () => undefined;
}

const draft = DRAFTS['event to send'];

/** A message that calls the host when it is read. */
const watchedDraft = (host: Host) => ({
  ...draft,
  message: Object.defineProperty({ ...draft.message }, 'event_id', {
    enumerable: true,
    get: () => {
      host.called();
      return draft.message.event_id;
    },
  }),
});

/** Reports one event, with parts that call the host. */
async function report(given: object, context: object = {}, payload: object = {}): Promise<void> {
  const reporter = createReporter({
    service: SERVICE,
    log: { destination: { write: () => {} } },
    ...given,
  });
  const attack = { ruleset: 'xss', ...payload };
  Object.defineProperties(attack, Object.getOwnPropertyDescriptors(payload));
  reporter.attack(attack, { actor: { ip: '203.0.113.9' }, ...context });
  await reporter.close();
}

const getter = (host: Host, key: string) => ({
  get [key]() {
    return host.called();
  },
});

const CALLS: Readonly<Record<string, (host: Host) => Promise<unknown>>> = {
  'a getter of a message of a sender': async (host) => {
    const sender = createWebhookSender(DESTINATION);
    await sender.send([watchedDraft(host)]);
    await sender.close({ deadlineMs: 0 });
  },
  'the secret of a sender': async (host) => {
    const secret = () => {
      host.called();
      return 'key';
    };
    const settings = () => ({ name: 'shop', environment: 'test', url: DESTINATION.url, secret });
    const sender = createWebhookSender({ settings });
    await sender.send([draft]);
    await sender.sendTest('app-1').catch(() => {});
    await sender.close({ deadlineMs: 0 });
  },
  'a nested getter of a record': async (host) => {
    const writer = createLogWriter({ destination: { write: () => {} } });
    const options = { extra: { deep: { deeper: getter(host, 'deepest') } } };
    const record = { ...RECORDS['custom event'], payload: { event_name: 'any', options } };
    writer.write(record);
  },
  'a nested getter of a payload': (host) =>
    report({}, {}, { extra: { deep: { deeper: getter(host, 'deepest') } } }),
  beforeSend: (host) => report({ beforeSend: host.called }),
  onRejected: (host) => report({ onRejected: host.called }, {}, { ruleset: 1 }),
  'onRejected for a message': (host) =>
    report(
      { onRejected: host.called, webhook: DESTINATION },
      { webhook: { risk_coefficient: -1 } },
    ),
  'the context of the current request': (host) => report({ context: host.called }),
  'a platform function': (host) => report({ platform: host.called }),
  'a destination of the log': (host) => report({ log: { destination: { write: host.called } } }),
  'a log writer of the host': (host) =>
    report({ log: { write: host.called, flush: async () => {}, close: async () => {} } }),
  'a sender of the host': (host) =>
    report({
      webhook: {
        send: async () => {
          host.called();
          return { accepted: [], skipped: [] };
        },
        flush: async () => ({}),
        close: async () => ({}),
      },
    }),
  'an incident store': async (host) => {
    const reporter = createReporter({
      service: SERVICE,
      log: false,
      webhook: DESTINATION,
      incidents: { record: host.called as never, retract: () => {} },
    });
    reporter.incident({
      incident_id: '1',
      incident_type: 'sql_injection',
      name: 'n',
      severity: 'major',
    });
    await reporter.close({ deadlineMs: 0 });
  },
  'settings of a sender': async (host) => {
    const sender = createWebhookSender({ settings: host.called });
    await sender.send([draft]).catch(() => {});
    await sender.close({ deadlineMs: 0 });
  },
  'a dispatcher': async (host) => {
    const dispatcher = {
      request: async () => {
        host.called();
        throw new Error('in the host');
      },
    };
    const options = {
      network: 'delegated',
      dispatcher: dispatcher as never,
      schedule: { delaysMs: [] },
    } as const;
    await sendWebhook(DESTINATION, [draft], options);
    const sender = createWebhookSender({ ...DESTINATION, ...options });
    await sender.send([draft]);
    await sender.flush({ deadlineMs: 50 });
    await sender.close({ deadlineMs: 0 });
  },
  'a queue': async (host) => {
    const queue = createMemoryQueue();
    for (const name of ['claim', 'enqueue'] as const) {
      const call = queue[name].bind(queue) as (...args: readonly unknown[]) => unknown;
      Reflect.set(queue, name, (...args: readonly unknown[]) => {
        host.called();
        return call(...args);
      });
    }
    const sender = createWebhookSender({ ...DESTINATION, queue });
    await sender.send([draft]);
    await sender.close({ deadlineMs: 0 });
  },
  'the reader of the active span': (host) => report({ platform: 'otel', activeSpan: host.called }),
  'an enricher': (host) => report({ enrichment: createEnrichment({ enrichers: [host.called] }) }),
};

describe.each([
  ['without a tracer', () => {}],
  ['with OpenTelemetry', useOpenTelemetry],
])('%s', (_tracer, useTracer) => {
  beforeEach(useTracer);

  test.each(Object.keys(CALLS))('an error in %s has few frames of this library', async (name) => {
    const frames: number[] = [];
    const called = (): undefined => {
      const ours = new Error('in the host').stack?.match(/\/src\/[^\s)]+\.ts/g) ?? [];
      frames.push(ours.length);
    };
    await CALLS[name]?.({ called });
    expect(frames).not.toEqual([]);
    expect(Math.max(...frames)).toBeLessThanOrEqual(MAX_FRAMES);
  });
});
