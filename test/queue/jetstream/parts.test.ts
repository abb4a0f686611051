/** The parts of the JetStream queue that need no server. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { messageOf, toldOf } from '../../../src/queue/jetstream/envelope.ts';
import {
  failure,
  isFull,
  isMissing,
  Refusal,
  Unanswered,
} from '../../../src/queue/jetstream/jetstream-failure.ts';
import {
  readQueueOptions,
  readStreamsOptions,
} from '../../../src/queue/jetstream/jetstream-options.ts';
import {
  applicationIdOf,
  lastToken,
  namesOf,
  tokenOf,
} from '../../../src/queue/jetstream/names.ts';
import { ServerTime } from '../../../src/queue/jetstream/server-time.ts';
import { createJetStreamQueue } from '../../../src/queue/jetstream.ts';
import { entryOf } from '../conformance/trial.ts';

const SERVERS = { servers: '127.0.0.1:4222' };

describe('an application as a token of a subject', () => {
  test('is another one for each id, and the id comes back', () => {
    const property = fc.property(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: 'binary' }),
      (id, other) => {
        const token = tokenOf(id);
        expect(token).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(applicationIdOf(token)).toBe(id);
        expect(tokenOf(other) === token).toBe(other === id);
      },
    );
    fc.assert(property, { seed: 9, numRuns: 300 });
  });

  test.each(['', '-', '\ud800', 'a.b', '*', '>', ' ', '\u0000'])('holds %j', (id) => {
    expect(applicationIdOf(tokenOf(id))).toBe(id);
  });

  test('is the last one of its subjects', () => {
    const names = namesOf('prefix');
    expect(lastToken(names.message(2, 'abc'))).toBe('abc');
    expect(lastToken(names.row('abc'))).toBe('abc');
    expect(names.messagesOf('abc')).toBe('prefix.m.*.abc');
    expect(names.letter('abc', 7)).toBe('prefix.d.abc.7');
  });
});

describe('what a message tells in its header', () => {
  test('comes back, in ASCII and on one line', () => {
    const property = fc.property(
      fc.string({ unit: 'binary' }),
      fc.nat(),
      fc.constantFrom(1 as const, 2 as const),
      (messageId, sizeBytes, format) => {
        const entry = entryOf('one', { messageId, sizeBytes, format });
        const told = toldOf(entry, { id: 'call', index: 1, count: 3 });
        expect(told).toMatch(/^[ -~]*$/);
        const subject = namesOf('p').message(format, tokenOf('one'));
        const message = messageOf({ sequence: 5, subject, storedMs: 8, told });
        expect(message).toEqual({
          sequence: 5,
          storedMs: 8,
          format,
          sizeBytes,
          messageId,
          dateAt: entry.stored.dateAt,
          countAt: entry.stored.countAt,
          origin: entry.origin,
          batch: { id: 'call', index: 1, count: 3 },
        });
      },
    );
    fc.assert(property, { seed: 9, numRuns: 200 });
  });

  test('brings the past along, but no death', () => {
    const past = { sends: 3, ageMs: 7, dueInMs: 5, maxMessages: 2, progress: { a: 'ä' } };
    const death = { reason: 'too-large', end: null } as const;
    const told = toldOf({ ...entryOf('one'), past: { ...past, death } });
    const message = messageOf({ sequence: 1, subject: 'p.m.2.a', storedMs: 0, told });
    expect(message.past).toEqual(past);
    expect(message).not.toHaveProperty('batch');
  });
});

describe("the server's time", () => {
  test('goes on with our clock from what the server has stamped, and never behind a stamp', () => {
    let ms = 100;
    const time = new ServerTime(() => ms);
    time.measured(5000, 90, 100);
    expect(time.now()).toBe(5000);
    ms = 150;
    expect(time.now()).toBe(5050);
    time.observe(5040);
    expect(time.now()).toBe(5050);
    time.observe(5060);
    expect(time.now()).toBe(5060);
  });

  test('is set back where the server is', () => {
    let ms = 100;
    const time = new ServerTime(() => ms);
    time.measured(5000, 100, 100);
    ms = 200;
    time.measured(4000, 190, 200);
    expect(time.now()).toBeGreaterThanOrEqual(4000);
    expect(time.now()).toBeLessThanOrEqual(4011);
  });
});

describe('options', () => {
  test('have their defaults', () => {
    expect(readStreamsOptions({ connection: SERVERS })).toEqual({
      connection: SERVERS,
      prefix: 'security-events',
      callTimeoutMs: 30_000,
      replicas: 1,
      storage: 'file',
      maxPendingMessages: 10_000_000,
      maxPendingBytes: 1_073_741_824,
    });
    expect(readQueueOptions({ connection: SERVERS })).toEqual({
      connection: SERVERS,
      prefix: 'security-events',
      callTimeoutMs: 30_000,
    });
  });

  test.each([
    ['connection', {}],
    ['connection', { connection: 'nats://127.0.0.1' }],
    ['connection', { connection: [] }],
    ['prefix', { connection: SERVERS, prefix: 'a.b' }],
    ['prefix', { connection: SERVERS, prefix: '' }],
    ['prefix', { connection: SERVERS, prefix: 'a'.repeat(65) }],
    ['callTimeoutMs', { connection: SERVERS, callTimeoutMs: 99 }],
    ['replicas', { connection: SERVERS, replicas: 6 }],
    ['storage', { connection: SERVERS, storage: 'disk' }],
    ['maxPendingMessages', { connection: SERVERS, maxPendingMessages: 0 }],
    ['maxPendingBytes', { connection: SERVERS, maxPendingBytes: 0.5 }],
  ])('are refused by the name of %s: %j', (name, options) => {
    expect(() => readStreamsOptions(options)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [name] }),
    );
  });

  test('of streams are none of the queue', () => {
    const options = { connection: SERVERS, replicas: 3 };
    expect(() => createJetStreamQueue(options)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: ['replicas'] }),
    );
  });
});

describe('failures', () => {
  test.each([
    { error: new Refusal(10059, 'stream not found'), detail: 'run createJetStreamStreams once' },
    { error: new Refusal(10005, 'no suitable peers'), detail: 'so many `replicas` (10005)' },
    { error: new Refusal(10047, 'no storage'), detail: 'less room than `maxPendingBytes` (10047)' },
    { error: new Refusal(10077, 'some error'), detail: 'NATS answered 10077' },
    { error: new Unanswered('no answer in time'), detail: 'NATS did not answer' },
    { error: new Error('connection refused'), detail: 'no connection to NATS' },
  ])('are told: $detail', ({ error, detail }) => {
    const told = failure(error);
    expect(told).toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining(detail),
    });
    expect(told.cause).toBeInstanceOf(Error);
  });

  test('hold no credentials', () => {
    const told = failure(new Error('cannot reach nats://user:secret@host:4222'));
    expect(`${told.message} ${(told.cause as Error).message}`).not.toContain('secret');
    expect((told.cause as Error).message).toContain('host:4222');
  });

  test.each([
    [new Refusal(10077, 'maximum messages exceeded'), true],
    [new Refusal(10077, 'maximum bytes exceeded'), true],
    [new Refusal(10077, 'disk broken'), false],
    [new Error('maximum bytes exceeded'), false],
  ])('%s is a full queue: %s', (error, expected) => {
    expect(isFull(error)).toBe(expected);
  });

  test.each([10037, 10043, 10057])('%i is about a message that is not there', (code) => {
    expect(isMissing(new Refusal(code, ''))).toBe(true);
    expect(isMissing(new Refusal(code + 1, ''))).toBe(false);
  });
});
