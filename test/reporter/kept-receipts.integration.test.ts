/** A receipt that the host keeps does not retain its event. */
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createRequestCapture } from '../../src/capture/index.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { createReporter } from '../../src/reporter/create-reporter.ts';
import { openSender, SECRET } from '../helpers/sender.ts';
import { SERVICE } from './open-reporter.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const sender = (answer: () => Promise<unknown>) => ({
  send: answer,
  flush: async () => ({}),
  close: async () => ({}),
});

const OURS = {
  url: 'https://receiver.example/hook',
  secret: SECRET,
  role: 'enqueue',
} as const;

const ENDS: readonly (readonly [string, () => object, string])[] = [
  ['queued by our sender', () => openSender({ ...OURS, queue: createMemoryQueue() }), 'accepted'],
  ['accepted', () => sender(async () => ({ accepted: ['any'], skipped: [] })), 'accepted'],
  [
    'not to be reported',
    () => sender(async () => ({ accepted: [], skipped: [{ reason: 'module-off' }] })),
    'skipped',
  ],
  ['refused', () => sender(() => Promise.reject(new Error('full'))), 'rejected'],
];

/** A separate function, so that its variables can be collected. */
async function reported(webhook: object) {
  const reporter = createReporter({
    service: SERVICE,
    platform: false,
    log: { destination: { write: () => true } },
    webhook: webhook as never,
  });
  const request = { method: 'GET', url: '/', headers: {}, socket: { remoteAddress: '192.0.2.9' } };
  // Some things a process begins with its first request, and keeps.
  const first = structuredClone(request);
  await createRequestCapture().run(first, () => reporter.attack({ ruleset: 'lfi' })).settled;
  const payload = { ruleset: 'xss' } as const;
  const receipts = createRequestCapture().run(request, () => [
    reporter.attack(payload),
    reporter.attack(payload, { module: 'waf' }),
  ]);
  await reporter.flush();
  await reporter.close();
  return { receipts, weak: { reporter, payload, request } as const };
}

async function released(webhook: object) {
  const { receipts, weak } = await reported(webhook);
  const refs = Object.entries(weak).map(([name, held]) => [name, new WeakRef(held)] as const);
  return { receipts, refs };
}

test.each(ENDS)('a receipt keeps neither event nor reporter: %s', async (_name, make, outcome) => {
  const { receipts, refs } = await released(make());
  // What was held by a WeakRef stays until the turn is over.
  for (let turn = 0; turn < 5; turn += 1) {
    await setImmediate();
    collect();
  }
  expect(refs.filter(([, ref]) => ref.deref() !== undefined).map(([name]) => name)).toEqual([]);
  const ends = await Promise.all(receipts.map(({ settled }) => settled));
  expect(ends.map((end) => end.outcome)).toEqual([outcome, outcome]);
});
