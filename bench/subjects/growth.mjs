/**
 * One point of a plot, in a process of its own: `node bench/subjects/growth.mjs <axis> <size> [<folder>]`.
 *
 * Prints one line of JSON: `messagesPerSecond`, `latencyMs` (the median) and `peakMegabytes`, the most resident
 * memory that the process had.
 */
import { join } from 'node:path';
import { securityEvent } from './inputs.mjs';
import { startReceiver } from './receiver-process.mjs';

const LEAST_TIME_MS = 1000;
const LATENCIES = 30;
const MOST_ROUNDS = 1000;

const SECRET = '5f0c2a9e7d3b4816'.repeat(4);

/** Texts of so many characters; of ASCII, so they are bytes. */
const draftsWith = (count, { textBytes = 100, destinations = 1 }) =>
  Array.from({ length: count }, (_, index) => {
    const draft = securityEvent(index);
    draft.message.application_id = `app-${index % destinations}`;
    draft.message.humanized_description = 'x'.repeat(textBytes);
    return draft;
  });

/** Every host of 127.0.0.0/8 is this machine: each destination has connections of its own. */
const hostOf = (index) => `127.1.${Math.floor(index / LAST_PARTS)}.${1 + (index % LAST_PARTS)}`;
const LAST_PARTS = 250;

async function senderTo(receiver, { destinations = 1, maxMessages = 1000 }) {
  const { createWebhookSender } = await import('security-event-delivery');
  const { port, pathname } = new URL(receiver.url);
  const applications = Object.fromEntries(
    Array.from({ length: destinations }, (_, index) => {
      const url = `http://${hostOf(index)}:${port}${pathname}`;
      return [`app-${index}`, { name: 'shop', environment: 'production', url, secret: SECRET }];
    }),
  );
  return createWebhookSender({
    settings: { applications },
    network: 'allow-private',
    maxMessages,
    cautiousMaxMessages: maxMessages,
    maxPendingMessages: 1_000_000,
    maxPendingBytes: 2 ** 31,
  });
}

/** `round` messages at a time until all are delivered; the time of one call of `call` of them, alone. */
async function sending({ round, call = 1, ...form }) {
  const receiver = await startReceiver('0.0.0.0');
  const sender = await senderTo(receiver, form);
  const drafts = draftsWith(round, form);
  const one = draftsWith(call, { ...form, destinations: 1 });
  let sent = 0;
  const deliver = async (messages) => {
    await sender.send(messages);
    await sender.flush();
    sent += messages.length;
  };
  return {
    count: round,
    run: () => deliver(drafts),
    once: () => deliver(one),
    close: async () => {
      await sender.close();
      const { messages } = await receiver.totals();
      receiver.stop();
      if (messages !== sent) throw new Error(`${messages} of ${sent} messages arrived`);
    },
  };
}

const STATE = { tier: 'healthy', maxMessages: 1000, maxBytes: 1e9, circuitBreaker: null };
const CLAIM = { tiers: ['healthy'], maxMessages: 1000, maxBytes: 1e9, leaseMs: 600_000 };
const BOUNDS = { maxPendingMessages: 2e6, maxPendingBytes: 4e9 };

/** As many come in as go out, so that what waits stays as it is. */
async function waiting(folder) {
  const { createSqliteQueue } = await import('security-event-delivery/queue/sqlite');
  const { entries } = await import('./queue.mjs');
  const queue = createSqliteQueue({ file: join(folder, 'queue.db'), ...BOUNDS });
  await queue.open(STATE);
  const leave = async (count) => {
    for (let left = count; left > 0; ) {
      const claim = await queue.claim({ ...CLAIM, maxMessages: left });
      left -= claim.messages.length;
      const delivered = claim.messages.map(() => ({ kind: 'delivered' }));
      await queue.settle(claim, delivered, { ...STATE, pauseMs: 0 });
    }
  };
  const turnOver = async (count) => {
    await queue.enqueue(entries(count));
    await leave(count);
  };
  return {
    count: 1000,
    run: () => turnOver(1000),
    once: () => turnOver(1),
    close: () => queue.close(),
  };
}

/** Makes what waits, in a process of its own: it is not to be in the memory that is told. */
async function filling(folder, count) {
  const { createSqliteQueue } = await import('security-event-delivery/queue/sqlite');
  const { entries } = await import('./queue.mjs');
  const queue = createSqliteQueue({ file: join(folder, 'queue.db'), sync: false, ...BOUNDS });
  await queue.open(STATE);
  for (let left = count; left > 0; left -= 1000) await queue.enqueue(entries(Math.min(1000, left)));
  await queue.close();
}

const AXES = {
  'message size': (textBytes) => sending({ round: 1000, textBytes }),
  'batch size': (maxMessages) => sending({ round: 1000, maxMessages, call: maxMessages }),
  destinations: (destinations) => sending({ round: 10_000, destinations }),
  backlog: (_size, folder) => waiting(folder),
};

async function timeOf(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function measure({ count, run, once }) {
  // Until V8 has compiled it, and every destination is known to work.
  await run();
  let rounds = 0;
  let takenMs = 0;
  while (takenMs < LEAST_TIME_MS && rounds < MOST_ROUNDS) {
    takenMs += await timeOf(run);
    rounds += 1;
  }
  const latencies = [];
  while (latencies.length < LATENCIES) latencies.push(await timeOf(once));
  return {
    messagesPerSecond: (rounds * count * 1000) / takenMs,
    latencyMs: latencies.toSorted((a, b) => a - b)[LATENCIES / 2],
    peakMegabytes: (process.resourceUsage().maxRSS * 1024) / 1e6,
  };
}

const [axis, size = '', folder = ''] = process.argv.slice(2);
if (axis === 'fill') {
  await filling(folder, Number(size));
} else if (axis !== undefined) {
  const subject = await AXES[axis](Number(size), folder);
  const point = await measure(subject);
  await subject.close();
  process.stdout.write(`${JSON.stringify(point)}\n`);
}
