/**
 * Measures one point of a plot in its own process: `node bench/subjects/growth.mjs <axis> <size> [<folder>]`.
 *
 * Prints one line of JSON: `messagesPerSecond`, `latencyMs` and `peakMegabytes`, the peak resident
 * memory of the process.
 */
import { join } from 'node:path';
import { hostOf, open as openBlackHoles } from './black-holes.mjs';
import { applicationAt, securityEvent } from './inputs.mjs';
import { CLAIM, entries, fill, openFile, STATE } from './queue.mjs';
import { startReceiver } from './receiver-process.mjs';

const MIN_TIME_MS = 1000;
const LATENCIES = 30;
const MAX_ROUNDS = 1000;

/** Creates messages with ASCII texts of `textBytes`. */
const draftsWith = (count, { textBytes = 100, destinations = 1 }) =>
  Array.from({ length: count }, (_, index) => {
    const draft = securityEvent(index);
    draft.message.application_id = `app-${index % destinations}`;
    draft.message.humanized_description = 'x'.repeat(textBytes);
    return draft;
  });

async function senderTo(receiver, { destinations = 1, maxMessages = 1000 }) {
  const { createWebhookSender } = await import('security-event-delivery');
  const { port, pathname } = new URL(receiver.url);
  const applications = Object.fromEntries(
    Array.from({ length: destinations }, (_, index) => {
      const url = `http://${hostOf(index)}:${port}${pathname}`;
      return [`app-${index}`, applicationAt(url)];
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

/** Delivers `round` messages per run. `once` delivers one call with `call` messages. */
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

/** Adds as many messages as it delivers, so that the backlog keeps its size. */
async function turningOver(folder) {
  const queue = await openFile(join(folder, 'queue.db'));
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

/** Fills the backlog in another process, so that it does not count in the measured memory. */
async function filling(folder, count) {
  const queue = await openFile(join(folder, 'queue.db'), { sync: false });
  await fill(queue, count);
  await queue.close();
}

const AXES = {
  'message size': (textBytes) => sending({ round: 1000, textBytes }),
  'batch size': (maxMessages) => sending({ round: 1000, maxMessages, call: maxMessages }),
  destinations: (destinations) => sending({ round: 10_000, destinations }),
  backlog: (_size, folder) => turningOver(folder),
};

const peakMegabytes = () => (process.resourceUsage().maxRSS * 1024) / 1e6;

async function timeOf(work) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function measure({ count, run, once }) {
  // Warm-up: V8 compiles the code, and every destination becomes healthy.
  await run();
  let rounds = 0;
  let takenMs = 0;
  while (takenMs < MIN_TIME_MS && rounds < MAX_ROUNDS) {
    takenMs += await timeOf(run);
    rounds += 1;
  }
  const latencies = [];
  while (latencies.length < LATENCIES) latencies.push(await timeOf(once));
  return {
    messagesPerSecond: (rounds * count * 1000) / takenMs,
    latencyMs: latencies.toSorted((a, b) => a - b)[LATENCIES / 2],
    peakMegabytes: peakMegabytes(),
  };
}

/** Runs once, without a warm-up, which would make the applications healthy. */
async function besideBlackHoles(holes) {
  const healthy = 10_000 - holes;
  const scene = await openBlackHoles('memory', { healthy, holes });
  const { totalMs, p99Ms } = await scene.serve();
  await scene.close();
  return {
    messagesPerSecond: (healthy * 1000) / totalMs,
    latencyMs: p99Ms,
    peakMegabytes: peakMegabytes(),
  };
}

async function pointOf(axis, size, folder) {
  if (axis === 'black holes') return await besideBlackHoles(size);
  const subject = await AXES[axis](size, folder);
  const point = await measure(subject);
  await subject.close();
  return point;
}

const [axis, size = '', folder = ''] = process.argv.slice(2);
if (axis === 'fill') {
  await filling(folder, Number(size));
} else if (axis !== undefined) {
  process.stdout.write(`${JSON.stringify(await pointOf(axis, Number(size), folder))}\n`);
}
