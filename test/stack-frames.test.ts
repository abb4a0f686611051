/** An error in a host's code has a stack that the host can read: few of its frames are this library's. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createReporter, createWebhookSender, sendWebhook } from '../src/index.ts';
import { DRAFTS } from './contract/samples.ts';

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

const CALLS: Readonly<Record<string, (host: Host) => Promise<unknown>>> = {
  'a dispatcher of sendWebhook': (host) =>
    sendWebhook(DESTINATION, [draft], {
      dispatcher: dispatcherOf(host),
      network: 'delegated',
      schedule: { delaysMs: [] },
    }),
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
  'onRejected of a reporter': async (host) => {
    const reporter = createReporter({
      service: SERVICE,
      log: { destination: { write: () => {} } },
      onRejected: host.called,
    });
    reporter.attack({ ruleset: 'xss' }, { actor: { ip: 'nonsense' } });
    await reporter.close();
  },
};

test.each(Object.keys(CALLS))('an error in %s has few frames of ours', async (name) => {
  const host = new Host();
  await CALLS[name]?.(host);
  expect(host.frames).not.toEqual([]);
  expect(Math.max(...host.frames)).toBeLessThanOrEqual(MAX_FRAMES);
});
