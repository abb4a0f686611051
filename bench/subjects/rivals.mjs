/**
 * Sends many messages to one receiver until all are answered, with our sender and with other libraries.
 * Each rival has its fastest options: as many events per request as ours, a queue for all of them, and no
 * wait for a batch to fill.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SECRET, securityEvents } from './inputs.mjs';
import { startReceiver } from './receiver-process.mjs';
import { plainLoop } from './send.mjs';

const MESSAGES_PER_REQUEST = 1000;
/** For rivals without batches. */
const REQUESTS_AT_ONCE = 64;
/** In milliseconds. Never reached, because a batch is full or flushed first. */
const NEVER = 600_000;

/** `open` returns `{ deliver, close? }`. `deliver` resolves when all messages are answered. */
const delivering = (open, warmUpCount) => async () => {
  const receiver = await startReceiver();
  const { deliver, close } = await open(receiver);
  const warmUp = securityEvents(warmUpCount);
  let drafts;
  return {
    prepare: (count) => {
      drafts = securityEvents(count);
    },
    warmUp: () => deliver(warmUp),
    run: () => deliver(drafts),
    check: async (count) => {
      const { messages } = await receiver.totals();
      const expected = count + warmUpCount;
      if (messages !== expected) throw new Error(`${messages} of ${expected} messages arrived`);
    },
    close: async () => {
      await close?.();
      receiver.stop();
    },
  };
};

const memory = async () => ({ queue: undefined, remove: () => {} });

async function sqlite() {
  const { createSqliteQueue } = await import('security-event-delivery/queue/sqlite');
  const folder = mkdtempSync(join(tmpdir(), 'bench-deliver-'));
  const remove = () => rmSync(folder, { recursive: true });
  return { queue: createSqliteQueue({ file: join(folder, 'queue.db') }), remove };
}

export const senderTo = (openQueue) => async (url) => {
  const { createWebhookSender } = await import('security-event-delivery');
  const { queue, remove } = await openQueue();
  const sender = createWebhookSender({
    url,
    secret: SECRET,
    network: 'allow-private',
    ...(queue === undefined
      ? { maxPendingMessages: 1_000_000, maxPendingBytes: 2 ** 31 }
      : { queue }),
  });
  const close = async () => {
    await sender.close();
    await remove();
  };
  return { sender, close };
};

export const QUEUES = { memory, sqlite };

const deliverWith = (sender) => async (drafts) => {
  for (let at = 0; at < drafts.length; at += MESSAGES_PER_REQUEST) {
    await sender.send(drafts.slice(at, at + MESSAGES_PER_REQUEST));
  }
  await sender.flush();
};

const ours =
  (openQueue) =>
  async ({ url }) => {
    const { sender, close } = await senderTo(openQueue)(url);
    return { deliver: deliverWith(sender), close };
  };

/** Our sender with metrics that are collected each second. */
async function withMetrics({ url }) {
  const { MeterProvider, PeriodicExportingMetricReader } = await import(
    '@opentelemetry/sdk-metrics'
  );
  const { registerMetrics } = await import('security-event-delivery/otel');
  const { sender, close } = await senderTo(memory)(url);
  const exporter = {
    export: (_metrics, done) => done({ code: 0 }),
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: 1000,
    exportTimeoutMillis: 1000,
  });
  const provider = new MeterProvider({ readers: [reader] });
  const stop = registerMetrics(provider, { senders: { sender }, applicationClass: (id) => id });
  return {
    deliver: deliverWith(sender),
    close: async () => {
      stop();
      await provider.shutdown();
      await close();
    },
  };
}

const bareLoop = async ({ url }) => ({ deliver: await plainLoop(url) });

/** Sends each batch without waiting for the one before; it has no flush. */
async function winston({ url, untilArrived }) {
  const { default: library } = await import('winston');
  const { Agent } = await import('node:http');
  const { hostname: host, port, pathname: path } = new URL(url);
  const agent = new Agent({ keepAlive: true, maxSockets: REQUESTS_AT_ONCE });
  const batch = { batch: true, batchCount: MESSAGES_PER_REQUEST, batchInterval: NEVER };
  const transport = new library.transports.Http({ host, port, path, agent, ...batch });
  const logger = library.createLogger({ transports: [transport] });
  let sent = 0;
  return {
    deliver: async (drafts) => {
      for (const { message } of drafts)
        logger.log({ level: 'info', message: 'event', event: message });
      sent += drafts.length;
      await untilArrived(sent);
    },
    close: () => agent.destroy(),
  };
}

async function postHog({ url }) {
  const { PostHog } = await import('posthog-node');
  const client = new PostHog('a-key', {
    host: new URL(url).origin,
    flushAt: MESSAGES_PER_REQUEST,
    maxBatchSize: MESSAGES_PER_REQUEST,
    maxQueueSize: 1_000_000,
    flushInterval: NEVER,
    disableCompression: true,
  });
  return {
    deliver: async (drafts) => {
      for (const { message_type: event, message: properties } of drafts) {
        client.capture({ distinctId: 'user-48213', event, properties });
      }
      await client.flush();
    },
    close: () => client.shutdown(),
  };
}

async function segment({ url }) {
  const { Analytics } = await import('@segment/analytics-node');
  const { origin: host, pathname: path } = new URL(url);
  const open = () =>
    new Analytics({ writeKey: 'a-key', host, path, flushAt: MESSAGES_PER_REQUEST });
  return {
    // Only `closeAndFlush` flushes.
    deliver: async (drafts) => {
      const analytics = open();
      for (const { message_type: event, message: properties } of drafts) {
        analytics.track({ userId: 'user-48213', event, properties });
      }
      await analytics.closeAndFlush();
    },
  };
}

async function fetchEach({ url }) {
  const post = async ({ message }) => {
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`status ${response.status}`);
  };
  return {
    deliver: async (drafts) => {
      let next = 0;
      const slot = async () => {
        while (next < drafts.length) {
          next += 1;
          await post(drafts[next - 1]);
        }
      };
      await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, slot));
    },
  };
}

export const sides = {
  'ours, memory': delivering(ours(memory), 20_000),
  'ours, metrics': delivering(withMetrics, 20_000),
  'ours, sqlite': delivering(ours(sqlite), 20_000),
  'bare loop': delivering(bareLoop, 20_000),
  'winston http': delivering(winston, 5000),
  'posthog-node': delivering(postHog, 5000),
  'analytics-node': delivering(segment, 2000),
  'a fetch per event': delivering(fetchEach, 1000),
};
