import { AssertionError, deepStrictEqual } from 'node:assert';
import { describe, expect, test } from 'vitest';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import { ATTACK, openReporter, openSendingReporter } from './open-reporter.ts';

describe('a receipt', () => {
  test('says that a message is dead, and why', async () => {
    const refusing = { otherwise: { status: 400 }, webhook: { schedule: { delaysMs: [] } } };
    const { reporter } = await openSendingReporter({}, refusing);
    const dead = { outcome: 'dead', reason: 'attempts-exhausted' };
    expect(await reporter.attack(ATTACK).settled).toEqual(dead);
  });

  test('says that another process delivers the message', async () => {
    const webhook = { queue: createMemoryQueue(), role: 'enqueue' } as const;
    const { reporter } = await openSendingReporter({}, { webhook });
    expect(await reporter.attack(ATTACK).settled).toEqual({ outcome: 'accepted' });
  });

  test('shows the record and the id of the message in JSON', async () => {
    const { reporter, records } = await openSendingReporter();
    const receipt = reporter.attack(ATTACK);
    const { message_id } = receipt;
    expect(message_id).toEqual(expect.any(String));
    expect(JSON.parse(JSON.stringify({ receipt }))).toEqual({
      receipt: { record: records()[0], message_id },
    });
    const none = openReporter({ log: false }).reporter.attack(ATTACK);
    expect(JSON.stringify(none)).toBe('{}');
    expect('record' in none).toBe(false);
  });

  test('is compared, copied and cloned by its record and the id of its message', () => {
    const { reporter } = openReporter();
    const one = reporter.userLogin({ success: true });
    const other = reporter.userLogin({ success: false });
    expect(() => deepStrictEqual(one, other)).toThrow(AssertionError);
    const { record } = one;
    expect(one.record).toBe(record);
    expect({ ...one }).toStrictEqual({ record });
    expect(structuredClone(one)).toStrictEqual({ record });
    expect(Object.keys(one)).toEqual(['record']);
  });

  test('has one promise for all readers', () => {
    const { reporter } = openReporter();
    const receipt = reporter.attack(ATTACK);
    expect(receipt.settled).toBe(receipt.settled);
  });
});
