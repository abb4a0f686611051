/** An error in a host's code has a stack that the host can read: few of its frames are this library's. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createEnrichment } from '../src/capture/index.ts';
import { createLogWriter, createReporter, createWebhookSender } from '../src/index.ts';
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
    writer.write(record as never);
  },
  'a nested getter of a payload': (host) =>
    report({}, {}, { extra: { deep: { deeper: getter(host, 'deepest') } } }),
  beforeSend: (host) => report({ beforeSend: host.called }),
  'the reader of the active span': (host) => report({ platform: 'otel', activeSpan: host.called }),
  'an enricher': (host) => report({ enrichment: createEnrichment({ enrichers: [host.called] }) }),
};

test.each(Object.keys(CALLS))('an error in %s has few frames of ours', async (name) => {
  const host = new Host();
  await CALLS[name]?.(host);
  expect(host.frames).not.toEqual([]);
  expect(Math.max(...host.frames)).toBeLessThanOrEqual(MAX_FRAMES);
});
