/**
 * Queues alone, without a sender: messages go in by so many callers at once, or all that waits comes
 * out, claim by claim. Messages are of 743 bytes and of 100 applications.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copying, copyingOut, newSchema } from './copy.mjs';
import { looping } from './sqlite-loop.mjs';

const STATE = { tier: 'healthy', maxMessages: 1000, maxBytes: 1e9, circuitBreaker: null };
const CLAIM = { tiers: ['healthy'], maxMessages: 1000, maxBytes: 1e9, leaseMs: 600_000 };
const BOUNDS = { maxPendingMessages: 2e6, maxPendingBytes: 4e9 };
const SLOTS = 16;
const BATCH = 1000;

let made = 0;

const entry = () => {
  made += 1;
  const messageId = `01a20056-a0b5-70dc-abb4-${String(made).padStart(12, '0')}`;
  return {
    applicationId: `application-${made % 100}`,
    stored: { messageId, format: 2, bytes: Buffer.alloc(700, messageId), dateAt: 50, countAt: 90 },
    sizeBytes: 743,
  };
};

export const entries = (count) => Array.from({ length: count }, entry);

/** Each opens anew what it has. */
const STORES = {
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
    const { remove, ...where } = await newSchema();
    await createPostgresSchema(where);
    return { open: () => createPostgresQueue({ ...where, ...BOUNDS }), remove };
  },
};

async function opened(name) {
  const store = await STORES[name]();
  const queue = store.open();
  await queue.open(STATE);
  return { ...store, queue };
}

async function fill(queue, count) {
  for (let left = count; left > 0; left -= BATCH)
    await queue.enqueue(entries(Math.min(BATCH, left)));
}

/** Until nothing is due; the number of messages. */
async function drain(queue) {
  let taken = 0;
  const slot = async () => {
    for (;;) {
      const claim = await queue.claim(CLAIM);
      if (!('messages' in claim)) return;
      taken += claim.messages.length;
      const delivered = claim.messages.map(() => ({ kind: 'delivered' }));
      await queue.settle(claim, delivered, { ...STATE, pauseMs: 0 });
    }
  };
  await Promise.all(Array.from({ length: SLOTS }, slot));
  // One that found nothing may have looked while the last claims were out.
  await slot();
  return taken;
}

function expectCount(found, expected) {
  if (found !== expected) throw new Error(`${found} messages, not ${expected}`);
}

async function enterAll(queue, given) {
  for (let next = given.pop(); next !== undefined; next = given.pop()) await queue.enqueue([next]);
}

/** By so many callers at once, a message a call. */
export const enteringAll = (queue, given, callers) =>
  Promise.all(Array.from({ length: callers }, () => enterAll(queue, given)));

/** One message a call, by so many callers. */
const entering = (name, callers) => async () => {
  const { queue, remove } = await opened(name);
  const given = [];
  return {
    prepare: (count) => void given.push(...entries(count)),
    warmUp: async () => {
      await fill(queue, BATCH);
      await drain(queue);
    },
    run: async () => {
      await enteringAll(queue, given, callers);
    },
    check: async (count) => expectCount((await queue.stats()).pending, count),
    close: async () => {
      await queue.close();
      await remove();
    },
  };
};

const leaving = (name) => async () => {
  const { queue, remove } = await opened(name);
  let taken = 0;
  return {
    prepare: (count) => fill(queue, count),
    run: async () => {
      taken = await drain(queue);
    },
    check: (count) => expectCount(taken, count),
    close: async () => {
      await queue.close();
      await remove();
    },
  };
};

/** How long until the first claim, of a store that has so many waiting. */
const starting = (name, waiting) => async () => {
  const first = await opened(name);
  let again;
  let found = 0;
  return {
    prepare: async (count) => {
      await fill(first.queue, waiting ?? count);
      await first.queue.close();
    },
    run: async () => {
      again = first.open();
      await again.open(STATE);
      const claim = await again.claim(CLAIM);
      found = claim.messages.length;
    },
    check: async (count) => {
      expectCount((await again.stats()).pending, waiting ?? count);
      if (found === 0) throw new Error('nothing was claimed');
    },
    close: async () => {
      await again.close();
      await first.remove();
    },
  };
};

export async function openFile(file) {
  const { createSqliteQueue } = await import('security-event-delivery/queue/sqlite');
  const queue = createSqliteQueue({ file, ...BOUNDS });
  await queue.open(STATE);
  return queue;
}

const SHARER = fileURLToPath(new URL('./queue-sharer.mjs', import.meta.url));

/** So many processes, of which this is one, share a file. Each stores its part of the messages. */
const sharing = (processes, callers) => async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-shared-'));
  const file = join(folder, 'queue.db');
  const queue = await openFile(file);
  const others = Array.from({ length: processes - 1 }, () =>
    fork(SHARER, [file, String(callers)], { execArgv: [] }),
  );
  await Promise.all(others.map((other) => once(other, 'message')));
  const given = [];
  const part = (count) => Math.ceil(count / processes);
  return {
    prepare: (count) => void given.push(...entries(part(count))),
    run: async (count) => {
      const done = others.map((other) => once(other, 'message'));
      for (const other of others) other.send(part(count));
      await Promise.all([...done, enteringAll(queue, given, callers)]);
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
    ...CALLERS.map((callers) => [`${name}, ${callers} callers`, entering(name, callers)]),
    [`${name}, drained`, leaving(name)],
    [`${name}, started`, starting(name)],
    [`${name}, started with little`, starting(name, BATCH)],
  ]),
]);
