/**
 * Queues alone, without a sender: messages go in by so many callers at once, or all that waits comes
 * out, claim by claim. Messages are of 743 bytes and of 100 applications.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { copying, copyingOut, newSchema } from './copy.mjs';

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
      await Promise.all(Array.from({ length: callers }, () => enterAll(queue, given)));
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

const CALLERS = [1, 64, 1000];

export const sides = Object.fromEntries([
  ...CALLERS.map((callers) => [`copy, ${callers} together`, copying(entries, callers)]),
  ['copy, out', copyingOut(entries)],
  ...Object.keys(STORES).flatMap((name) => [
    ...CALLERS.map((callers) => [`${name}, ${callers} callers`, entering(name, callers)]),
    [`${name}, drained`, leaving(name)],
    [`${name}, started`, starting(name)],
    [`${name}, started with little`, starting(name, BATCH)],
  ]),
]);
