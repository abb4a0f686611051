import { afterEach, describe, expect, test } from 'vitest';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { Claimed, Numbered, Stored } from '../../src/queue/message-classes.ts';
import type { Claim, ClaimedMessage } from '../../src/queue/queue.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { quickReader } from '../../src/webhook/draft-reader.ts';
import { storeV1, storeV2 } from '../../src/webhook/encoder.ts';
import { AcceptedEntry } from '../../src/webhook/engine/intake.ts';
import { Tracker } from '../../src/webhook/engine/tracker.ts';

const stored = () =>
  storeV2({ message_id: 'id-1', message_type: 'test', message: { application_id: 'one' } });
const origin = () => new Tracker('sender-1', true).expect();

async function claimOf(count: number): Promise<readonly ClaimedMessage[]> {
  const queue = createMemoryQueue();
  const row = { tier: 'healthy', maxMessages: 1000, maxBytes: 1_000_000, lane: null } as const;
  await queue.open(row);
  const place = { index: 0, applicationId: 'one' };
  await queue.enqueue(
    Array.from({ length: count }, () => {
      const entry = new AcceptedEntry(place, stored(), 100);
      entry.origin = origin();
      return entry;
    }),
  );
  const request = { maxMessages: 1000, maxBytes: 1_000_000, leaseMs: 1000 };
  const claim = await queue.claim({ tiers: ['healthy'], ...request });
  return (claim as Claim).messages;
}

const isLiteral = (value: object | undefined): boolean =>
  value !== undefined && Object.getPrototypeOf(value) === Object.prototype;

/** A few in one go make a run, and one by itself does not. */
test.each([1, 10])('of %i messages nothing comes of a literal', async (count) => {
  const given = await claimOf(count);
  expect(given).toHaveLength(count);
  const made = given.flatMap((one) => [one, one.stored, one.origin]);
  const draft = quickReader('strict')(sampleMessageToSend());
  expect(draft).toBeDefined();
  made.push(...([draft, stored(), storeV1('id', {}), origin()] as unknown as typeof made));
  expect(made.filter(isLiteral)).toEqual([]);
});

describe('where a prototype has setters of the same names', () => {
  const names = ['messageId', 'format', 'bytes', 'senderId', 'number', 'stored', 'origin', 'sends'];

  afterEach(() => {
    for (const name of names) Reflect.deleteProperty(Object.prototype, name);
  });

  test('each field is the object’s own all the same', () => {
    const plain = {
      stored: { messageId: 'id', format: 2, bytes: Buffer.from('{}'), dateAt: 1, countAt: 2 },
      origin: { senderId: 'sender', number: 3 },
      claimed: { sends: 1, ageMs: 2, progress: null },
    } as const;
    for (const name of names) {
      Object.defineProperty(Object.prototype, name, {
        configurable: true,
        get: () => 'inherited',
        set: () => {},
      });
    }
    const one = new Stored(plain.stored);
    const from = new Numbered(plain.origin.senderId, plain.origin.number);
    const claimed = new Claimed({ stored: one, origin: from, ...plain.claimed });
    const found = [one, from, claimed].map((made) => Object.entries(made));
    for (const name of names) Reflect.deleteProperty(Object.prototype, name);
    expect(found).toEqual([
      Object.entries(plain.stored),
      Object.entries(plain.origin),
      Object.entries({ stored: one, origin: from, ...plain.claimed }),
    ]);
  });
});
