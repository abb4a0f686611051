/**
 * Queues without a sender: many concurrent callers enqueue messages, or all waiting messages are claimed
 * and settled. Messages have 743 bytes and belong to 100 applications.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copying, copyingOut, newSchema } from './copy.mjs';
import { looping } from './sqlite-loop.mjs';

export const STATE = { health: 'healthy', maxMessages: 1000, maxBytes: 1e9, circuitBreaker: null };
export const CLAIM = { ofHealth: ['healthy'], maxMessages: 1000, maxBytes: 1e9, leaseMs: 600_000 };
const BOUNDS = { maxPendingMessages: 2e6, maxPendingBytes: 4e9 };
const SLOTS = 16;
const BATCH = 1000;

let created = 0;

const entry = (applications) => {
  created += 1;
  const messageId = `01a20056-a0b5-70dc-abb4-${String(created).padStart(12, '0')}`;
  return {
    applicationId: `application-${created % applications}`,
    stored: { messageId, format: 2, bytes: Buffer.alloc(700, messageId), dateAt: 50, countAt: 90 },
    sizeBytes: 743,
  };
};

export const entries = (count, applications = 100) =>
  Array.from({ length: count }, () => entry(applications));

/** Stores of messages. `open` can be called again and finds the same messages. */
export const STORES = {
  memory: async () => {
    const { createMemoryQueue } = await import('security-event-delivery/queue/memory');
    const queue = createMemoryQueue(BOUNDS);
    return { open: () => queue, remove: () => {} };
  },
  sqlite: async () => {
    const { createSqliteQueue } = await import('security-event-delivery/queue/sqlite');
    const folder = mkdtempSync(join(tmpdir(), 'bench-queue-'));
    return {
      open: () => createSqliteQueue({ file: join(folder, 'queue.db'), ...BOUNDS }),
      remove: () => rmSync(folder, { recursive: true }),
    };
  },
  postgres: async () => {
    const { createPostgresQueue, createPostgresSchema } = await import(
      'security-event-delivery/queue/postgres'
    );
    const { remove, ...options } = await newSchema();
    await createPostgresSchema(options);
    return { open: () => createPostgresQueue({ ...options, ...BOUNDS }), remove };
  },
};

async function opened(name) {
  const store = await STORES[name]();
  const queue = store.open();
  await queue.open(STATE);
  const close = async () => {
    await queue.close();
    await store.remove();
  };
  return { ...store, queue, close };
}

export async function fill(queue, count, applications) {
  for (let left = count; left > 0; left -= BATCH)
    await queue.enqueue(entries(Math.min(BATCH, left), applications));
}

/** Claims and settles until nothing is due. Resolves to the number of messages. */
async function drain(queue, claimRequest = CLAIM) {
  let taken = 0;
  const slot = async () => {
    for (;;) {
      const claim = await queue.claim(claimRequest);
      if (!('messages' in claim)) return;
      taken += claim.messages.length;
      const delivered = claim.messages.map(() => ({ kind: 'delivered' }));
      await queue.settle(claim, delivered, { ...STATE, pauseMs: 0 });
    }
  };
  await Promise.all(Array.from({ length: SLOTS }, slot));
  // The slots may have stopped while the last claims were still unsettled.
  await slot();
  return taken;
}

function expectCount(found, expected) {
  if (found !== expected) throw new Error(`${found} messages, not ${expected}`);
}

async function enqueueEach(queue, messages) {
  for (let next = messages.pop(); next !== undefined; next = messages.pop())
    await queue.enqueue([next]);
}

/** Enqueues one message per call, with this number of concurrent callers. */
export const enqueueAll = (queue, messages, callers) =>
  Promise.all(Array.from({ length: callers }, () => enqueueEach(queue, messages)));

const enqueueing = (name, callers) => async () => {
  const { queue, close } = await opened(name);
  const messages = [];
  return {
    prepare: (count) => void messages.push(...entries(count)),
    warmUp: async () => {
      await fill(queue, BATCH);
      await drain(queue);
    },
    run: async () => {
      await enqueueAll(queue, messages, callers);
    },
    check: async (count) => expectCount((await queue.stats()).pending, count),
    close,
  };
};

const draining = (name) => async () => {
  const { queue, close } = await opened(name);
  let taken = 0;
  return {
    prepare: (count) => fill(queue, count),
    run: async () => {
      taken = await drain(queue);
    },
    check: (count) => expectCount(taken, count),
    close,
  };
};

/** Enqueues and drains messages of this number of applications, two per claim. */
const passing = (name, applications) => async () => {
  const { queue, close } = await opened(name);
  let taken = 0;
  const pass = async (count) => {
    await fill(queue, count, applications);
    taken += await drain(queue, { ...CLAIM, maxMessages: 2 });
  };
  const WARM_UP = 2 * BATCH;
  return {
    warmUp: () => pass(WARM_UP),
    run: pass,
    check: (count) => expectCount(taken, count + WARM_UP),
    close,
  };
};

/** Measures the time to open a store with waiting messages and claim once. */
const starting = (name, waiting) => async () => {
  const first = await opened(name);
  let reopened;
  let found = 0;
  return {
    prepare: async (count) => {
      await fill(first.queue, waiting ?? count);
      await first.queue.close();
    },
    run: async () => {
      reopened = first.open();
      await reopened.open(STATE);
      const claim = await reopened.claim(CLAIM);
      found = claim.messages.length;
    },
    check: async (count) => {
      expectCount((await reopened.stats()).pending, waiting ?? count);
      if (found === 0) throw new Error('nothing was claimed');
    },
    close: async () => {
      await reopened.close();
      await first.remove();
    },
  };
};

export async function openFile(file, options = {}) {
  const { createSqliteQueue } = await import('security-event-delivery/queue/sqlite');
  const queue = createSqliteQueue({ file, ...BOUNDS, ...options });
  await queue.open(STATE);
  return queue;
}

const SHARER = fileURLToPath(new URL('./queue-sharer.mjs', import.meta.url));

/** Several processes share a file. Each enqueues its part of the messages. */
const sharing = (processes, callers) => async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-shared-'));
  const file = join(folder, 'queue.db');
  const queue = await openFile(file);
  const others = Array.from({ length: processes - 1 }, () =>
    fork(SHARER, [file, String(callers)], { execArgv: [] }),
  );
  await Promise.all(others.map((other) => once(other, 'message')));
  const messages = [];
  const part = (count) => Math.ceil(count / processes);
  return {
    prepare: (count) => void messages.push(...entries(part(count))),
    run: async (count) => {
      const done = others.map((other) => once(other, 'message'));
      for (const other of others) other.send(part(count));
      await Promise.all([...done, enqueueAll(queue, messages, callers)]);
    },
    check: async (count) => expectCount((await queue.stats()).pending, part(count) * processes),
    close: async () => {
      const ended = others.map((other) => once(other, 'exit'));
      for (const other of others) other.disconnect();
      await Promise.all(ended);
      await queue.close();
      rmSync(folder, { recursive: true });
    },
  };
};

const CALLERS = [1, 64, 1000];

export const sides = Object.fromEntries([
  ...CALLERS.map((callers) => [`copy, ${callers} together`, copying(entries, callers)]),
  ...CALLERS.map((callers) => [`loop, ${callers} together`, looping(callers)]),
  ...[1, 2].map((processes) => [`sqlite, ${processes} processes`, sharing(processes, 64)]),
  ['copy, out', copyingOut(entries)],
  ...Object.keys(STORES).flatMap((name) => [
    ...CALLERS.map((callers) => [`${name}, ${callers} callers`, enqueueing(name, callers)]),
    [`${name}, drained`, draining(name)],
    ...[10, 10_000].map((count) => [`${name}, ${count} applications`, passing(name, count)]),
    [`${name}, started`, starting(name)],
    [`${name}, started with little`, starting(name, BATCH)],
  ]),
]);
