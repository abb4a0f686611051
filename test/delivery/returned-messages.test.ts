import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { messageToSend } from '../../src/contract/index.ts';
import { DeadMessage, QueuedMessage } from '../../src/delivery/sender.ts';
import type { DeadLetter } from '../../src/queue/queue.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { toStoredV1, toStoredV2 } from '../../src/webhook/encoder.ts';

const GIVEN = { ...sampleMessageToSend('security_response'), message_id: 'm-1' };
const ELEMENT = { svc_payload_type: 'test', application_name: 'hunter2', ips: [] };

const V2 = { applicationId: 'shop-1', stored: toStoredV2(GIVEN), sends: 3 };
const V1 = { applicationId: 'shop-1', stored: toStoredV1('m-2', ELEMENT), sends: 0 };

const LETTER: DeadLetter = {
  ...V2,
  id: '17',
  sizeBytes: 300,
  reason: 'attempts-exhausted',
  lastAttempt: { status: 404 },
  acceptedAt: 1000,
  diedAt: 2000,
};

describe('a returned message', () => {
  test('has its application, its id, and how often it was sent', () => {
    expect(Object.fromEntries(Object.entries(new QueuedMessage(V2)))).toEqual({
      applicationId: 'shop-1',
      message_id: 'm-1',
      format: 2,
      sends: 3,
    });
    expect(new QueuedMessage(V1)).toMatchObject({ message_id: 'm-2', format: 1, sends: 0 });
  });

  test('can be sent again', () => {
    const { content } = new QueuedMessage(V2);
    expect(content).toEqual(GIVEN);
    expect(Object.keys(content)).toEqual(['message_id', 'message_type', 'message']);
    expect(messageToSend('strict').safeParse(content).success).toBe(true);
  });

  test('is the element itself in format 1', () => {
    expect(new QueuedMessage(V1).content).toEqual(ELEMENT);
  });

  test('does not show its content when it is printed', () => {
    for (const kept of [new QueuedMessage(V1), new DeadMessage({ ...LETTER, ...V1 })]) {
      const shown = [
        inspect(kept, { depth: 9, showHidden: true }),
        JSON.stringify(kept),
        JSON.stringify(Object.entries(kept)),
      ];
      expect(shown.join()).not.toContain('hunter2');
    }
  });
});

test.each<[string, DeadLetter['lastAttempt'], object]>([
  ['its last status', { status: 404 }, { status: 404 }],
  ['its last failure', { failure: 'tls' }, { failure: 'tls' }],
  ['neither, if it was never sent', null, {}],
])('a dead letter has %s', (_title, lastAttempt, shown) => {
  const dead = new DeadMessage({ ...LETTER, lastAttempt });
  expect(Object.fromEntries(Object.entries(dead))).toEqual({
    applicationId: 'shop-1',
    message_id: 'm-1',
    format: 2,
    sends: 3,
    id: '17',
    reason: 'attempts-exhausted',
    acceptedAt: 1000,
    diedAt: 2000,
    ...shown,
  });
  expect(dead.content).toEqual(GIVEN);
});
