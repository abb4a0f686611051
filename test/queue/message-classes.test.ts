import { expect, test } from 'vitest';
import { takeIn } from '../../src/delivery/intake.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { Claimed, Stored } from '../../src/queue/message-classes.ts';
import type { Claim, ClaimedMessage } from '../../src/queue/queue.ts';
import type { ResolvedApplication } from '../../src/settings/source.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { AcceptedEntry } from '../../src/webhook/accept.ts';
import { storeV1, storeV2 } from '../../src/webhook/encoder.ts';
import { BlankDraft, plainDraft, quickReader } from '../../src/webhook/read-messages.ts';

const stored = () =>
  storeV2({ message_id: 'id-1', message_type: 'test', message: { application_id: 'one' } });

async function claimOf(count: number): Promise<readonly ClaimedMessage[]> {
  const queue = createMemoryQueue();
  const state = {
    tier: 'healthy',
    maxMessages: 1000,
    maxBytes: 1_000_000,
    circuitBreaker: null,
  } as const;
  await queue.open(state);
  const place = { index: 0, applicationId: 'one' };
  await queue.enqueue(Array.from({ length: count }, () => new AcceptedEntry(place, stored(), 100)));
  const request = { maxMessages: 1000, maxBytes: 1_000_000, leaseMs: 1000 };
  const claim = await queue.claim({ tiers: ['healthy'], ...request });
  return (claim as Claim).messages;
}

/** `undefined` has no prototype, and fails. */
const isLiteral = (value: object): boolean => Object.getPrototypeOf(value) === Object.prototype;

/** A few in one go make a run, and one by itself does not. */
test.each([1, 10])('of a claim of %i messages nothing comes of a literal', async (count) => {
  const given = await claimOf(count);
  expect(given).toHaveLength(count);
  const made = given.flatMap((one) => [one, one.stored]);
  expect(made.filter(isLiteral)).toEqual([]);
});

test('nothing that a call holds of its messages comes of a literal', async () => {
  const { entries } = await takeIn(
    { messages: [sampleMessageToSend()], selection: {}, acceptedAtMs: 0 },
    {
      dialect: 'strict',
      maxBodyBytes: 10_000,
      v1Aliases: false,
      newId: () => 'id-1',
      find: async (id) => ({ id, name: id, environment: 'test', format: 2 }) as ResolvedApplication,
      yieldToEventLoop: () => undefined,
      isBehind: () => false,
    },
  );
  const [entry] = entries as readonly [AcceptedEntry];
  const draft = sampleMessageToSend();
  const drafts = [quickReader('strict')(draft) as object, plainDraft(draft, draft)];
  const made = [entry, entry.stored, storeV1('id', {}), ...drafts];
  expect(made.filter(isLiteral)).toEqual([]);
});

const NAMES = ['messageId', 'messageType', 'format', 'bytes', 'dateAt', 'countAt'].concat(
  [
    'number',
    'stored',
    'origin',
    'sends',
    'ageMs',
    'progress',
    'sequence',
    'index',
    'applicationId',
  ],
  ['sizeBytes', 'message', 'application', 'playbook', 'v1'],
);

test('each field is the object’s own where a prototype has setters of the same names', () => {
  const plain = {
    messageId: 'id',
    format: 2,
    bytes: Buffer.from('{}'),
    dateAt: 1,
    countAt: 2,
  } as const;
  const claimed = { sequence: 3, sends: 1, ageMs: 2, progress: null };
  let made: { readonly [name: string]: object } = {};
  try {
    for (const name of NAMES) {
      Reflect.defineProperty(Object.prototype, name, {
        configurable: true,
        get: () => 'inherited',
        set: () => {},
      });
    }
    const one = new Stored(plain);
    const draft = new BlankDraft();
    draft.messageId = 'id';
    draft.message = '{}';
    made = {
      one,
      claim: new Claimed({ stored: one, ...claimed }),
      entry: new AcceptedEntry({ index: 1, applicationId: 'one' }, one, 4),
      draft,
    };
  } finally {
    for (const name of NAMES) Reflect.deleteProperty(Object.prototype, name);
  }
  const { one } = made;
  expect(Object.values(made).map((object) => ({ ...object }))).toEqual([
    plain,
    { stored: one, ...claimed },
    {
      index: 1,
      applicationId: 'one',
      stored: one,
      sizeBytes: 4,
    },
    {
      messageId: 'id',
      messageType: '',
      message: '{}',
      application: undefined,
      playbook: undefined,
      v1: undefined,
    },
  ]);
});
