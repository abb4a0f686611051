/** An error in a host's code has a stack that the host can read: few of its frames are this library's. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createEnrichment } from '../src/capture/index.ts';
import { createLogWriter, createReporter, createWebhookSender, sendWebhook } from '../src/index.ts';
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

/** Frames of src in the stack of a function of the host that is called. */
class Host {
  readonly frames: number[] = [];

  readonly called = (): undefined => {
    const frames = new Error('in the host').stack?.match(/\/src\/[^\s)]+\.ts/g) ?? [];
    this.frames.push(frames.length);
  };
}

const draft = DRAFTS['event to send'];

const dispatcherOf = (host: Host) =>
  ({
    request: () => {
      host.called();
      return Promise.reject(new Error('unreachable'));
    },
  }) as never;

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
  'a dispatcher of sendWebhook': (host) =>
    sendWebhook(DESTINATION, [draft], {
      dispatcher: dispatcherOf(host),
      network: 'delegated',
      schedule: { delaysMs: [] },
    }),
  'a getter of a message of sendWebhook': (host) =>
    sendWebhook(DESTINATION, [watchedDraft(host)], {
      dispatcher: dispatcherOf(new Host()),
      network: 'delegated',
      schedule: { delaysMs: [] },
    }),
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
  'the settings of a sender': async (host) => {
    const sender = createWebhookSender({ settings: host.called });
    await sender.send([draft]).catch(() => {});
    await sender.close({ deadlineMs: 0 });
  },
  "a subscriber of a sender's events": async (host) => {
    const name = 'security-event-delivery:accepted';
    subscribe(name, host.called);
    const sender = createWebhookSender(DESTINATION);
    await sender.send([draft]);
    await sender.close({ deadlineMs: 0 });
    unsubscribe(name, host.called);
  },
  'the destination of a log': async (host) => {
    const reporter = createReporter({
      service: SERVICE,
      log: { destination: { write: host.called } },
    });
    reporter.attack({ ruleset: 'xss' }, { actor: { ip: '203.0.113.9' } });
    await reporter.close();
  },
  'a nested getter of a record': async (host) => {
    const writer = createLogWriter({ destination: { write: () => {} } });
    const options = { extra: { deep: { deeper: getter(host, 'deepest') } } };
    const record = { ...RECORDS['custom event'], payload: { event_name: 'any', options } };
    writer.write(record as never);
  },
  'onRejected of a reporter': async (host) => {
    const reporter = createReporter({
      service: SERVICE,
      log: { destination: { write: () => {} } },
      onRejected: host.called,
    });
    reporter.attack({ ruleset: 'xss' }, { actor: { ip: 'nonsense' } });
    await reporter.close();
  },
  'a getter of a payload': (host) => report({}, {}, getter(host, 'extra')),
  'a nested getter of a payload': (host) =>
    report({}, {}, { extra: { deep: { deeper: getter(host, 'deepest') } } }),
  'a getter of a context': (host) => report({}, getter(host, 'http')),
  beforeSend: (host) => report({ beforeSend: host.called }),
  'the context function': (host) => report({ context: host.called }),
  'a platform function': (host) =>
    report({
      platform: () => {
        host.called();
        return {};
      },
    }),
  'the reader of the active span': (host) => report({ platform: 'otel', activeSpan: host.called }),
  'an enricher': (host) => report({ enrichment: createEnrichment({ enrichers: [host.called] }) }),
  'an incident store': async (host) => {
    const record = (): never => {
      host.called();
      throw new Error('the store failed');
    };
    const reporter = createReporter({
      service: SERVICE,
      log: { destination: { write: () => {} } },
      webhook: {
        send: async () => ({ skipped: [] }),
        flush: async () => {},
        close: async () => {},
      } as never,
      incidents: { record, retract: () => {} },
    });
    reporter.incident({ incident_id: 'i-1', incident_type: 'xss', severity: 'major' } as never);
    await reporter.close();
  },
};

test.each(Object.keys(CALLS))('an error in %s has few frames of ours', async (name) => {
  const host = new Host();
  await CALLS[name]?.(host);
  expect(host.frames).not.toEqual([]);
  expect(Math.max(...host.frames)).toBeLessThanOrEqual(MAX_FRAMES);
});
