import { expect, test } from 'vitest';
import { readSendCall } from '../../src/delivery/intake.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { ClaimedMessage } from '../../src/queue/queue.ts';
import type { ResolvedApplication } from '../../src/settings/source.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { AcceptedEntry } from '../../src/webhook/accept.ts';
import { toStoredV1, toStoredV2 } from '../../src/webhook/encoder.ts';
import { messageFromZod, messageReader } from '../../src/webhook/read-messages.ts';
import { claimFrom, INITIAL } from './conformance/trial.ts';

const stored = () =>
  toStoredV2({ message_id: 'id-1', message_type: 'test', message: { application_id: 'one' } });

async function claimOf(count: number): Promise<readonly ClaimedMessage[]> {
  const queue = createMemoryQueue();
  await queue.open(INITIAL);
  const place = { index: 0, applicationId: 'one' };
  await queue.enqueue(Array.from({ length: count }, () => new AcceptedEntry(place, stored(), 100)));
  return (await claimFrom(queue)).messages;
}

/** Fails for `undefined`, which has no prototype. */
const isLiteral = (value: object): boolean => Object.getPrototypeOf(value) === Object.prototype;

/** The queue stores several messages of one call together, and a single one alone. */
test.each([1, 10])('a claim of %i messages holds objects of classes only', async (count) => {
  const given = await claimOf(count);
  expect(given).toHaveLength(count);
  const made = given.flatMap((one) => [one, one.stored]);
  expect(made.filter(isLiteral)).toEqual([]);
});

test('a call of send holds objects of classes only', async () => {
  const { entries } = await readSendCall(
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
  const quick = messageReader('strict').safeParse(draft);
  const drafts = [(quick as { readonly data: object }).data, messageFromZod(draft, draft)];
  const made = [entry, entry.stored, toStoredV1('id', {}), ...drafts];
  expect(made.filter(isLiteral)).toEqual([]);
});
