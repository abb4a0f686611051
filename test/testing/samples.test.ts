import { describe, expect, test } from 'vitest';
import {
  EVENT_NAMES,
  INCIDENT_MESSAGE_TYPES,
  LogRecord,
  MESSAGE_TYPES,
  messageToSend,
  SVC_PAYLOAD_TYPES,
  WebhookMessageV1,
  WebhookMessageV2,
} from '../../src/contract/index.ts';
import {
  sampleMessage,
  sampleMessageToSend,
  sampleMessageV1,
  sampleRecord,
} from '../../src/testing/index.ts';
import { override } from '../../src/testing/samples.ts';

const TYPES = [...MESSAGE_TYPES, ...INCIDENT_MESSAGE_TYPES, 'injection_sql'] as const;

describe('sampleRecord', () => {
  test.each([...EVENT_NAMES, 'svc.ev0.threat.vulnerability_exploit.sqli.blind'] as const)(
    '%s is a valid strict record',
    (name) => {
      const record = sampleRecord(name);
      expect(record.event_name).toBe(name);
      expect(LogRecord.parse(record)).toStrictEqual(record);
    },
  );

  test('is an attack by default', () => {
    expect(sampleRecord()).toStrictEqual({
      context: { service: { env: 'production', name: 'shop', svc_id: 'shop-1' } },
      detected_at: '2026-11-21T10:00:00.000+00:00',
      event_name: 'svc.ev0.threat.attack',
      event_version: '1.0.0',
      payload: { ruleset: 'sql_injection' },
    });
  });

  test('merges overrides deeply', () => {
    const record = sampleRecord('svc.ev0.user_event.login', {
      payload: { success: false },
      context: { service: { name: 'pay' } },
    });
    expect(record.payload).toEqual({ success: false });
    expect(record.context.service).toEqual({ env: 'production', name: 'pay', svc_id: 'shop-1' });
  });
});

describe('sampleMessage', () => {
  test.each(TYPES)('%s is a valid strict message', (type) => {
    const message = sampleMessage(type);
    expect(message.message_type).toBe(type);
    expect(WebhookMessageV2.parse(message)).toStrictEqual(message);
  });

  test.each(TYPES)('%s to send is accepted by senders', (type) => {
    const message = sampleMessageToSend(type);
    expect(message.message_type).toBe(type);
    expect(messageToSend('strict').parse(message)).toStrictEqual(message);
    expect(message.message).toEqual(sampleMessage(type).message);
  });

  test('of each type has its own id', () => {
    expect(new Set(TYPES.map((type) => sampleMessage(type).message_id)).size).toBe(TYPES.length);
    expect(TYPES.map((type) => sampleMessageToSend(type).message_id)).toEqual(
      TYPES.map((type) => sampleMessage(type).message_id),
    );
  });

  test('is a security event by default, always the same', () => {
    expect(sampleMessage().message_type).toBe('security_event');
    expect(sampleMessage()).toStrictEqual(sampleMessage('security_event'));
    expect(sampleMessageToSend()).toStrictEqual({
      message_id: '01a1fd8c-6900-7000-8000-e13405d532e0',
      message_type: 'security_event',
      message: sampleMessage().message,
    });
  });
});

describe('sampleMessageV1', () => {
  test.each(SVC_PAYLOAD_TYPES)('%s is a valid strict element', (type) => {
    const element = sampleMessageV1(type);
    expect(element.svc_payload_type).toBe(type);
    expect(WebhookMessageV1.parse(element)).toStrictEqual(element);
  });

  test('is a security event by default', () => {
    expect(sampleMessageV1().svc_payload_type).toBe('security_event');
  });
});

test.each(['nope', 'svc.ev0.nope', 'toString', 'injection_'])(
  'samples refuse the unknown name %s',
  (name) => {
    const unknown = name as never;
    for (const sample of [
      () => sampleRecord(unknown),
      () => sampleMessage(unknown),
      () => sampleMessageToSend(unknown),
      () => sampleMessageV1(unknown),
    ]) {
      expect(sample).toThrow(expect.objectContaining({ code: 'ERR_INVALID_OPTION' }));
    }
  },
);

test('the error of an unknown message type names the types of injections', () => {
  const refusal = { message: expect.stringMatching(/test, .*, injection_…/) };
  expect(() => sampleMessage('nope' as never)).toThrow(expect.objectContaining(refusal));
});

describe('override', () => {
  const nested = { b: 1, c: 2 };
  const base = { a: nested, list: [1, 2] };

  test.each([
    ['replaces a value', { list: [3] }, { a: { b: 1, c: 2 }, list: [3] }],
    ['merges objects', { a: { b: 5 } }, { a: { b: 5, c: 2 }, list: [1, 2] }],
    ['removes undefined', { a: { b: undefined } }, { a: { c: 2 }, list: [1, 2] }],
    ['adds', { d: { e: null } }, { ...base, d: { e: null } }],
    ['replaces an object by a value', { a: 7 }, { a: 7, list: [1, 2] }],
    [
      'treats __proto__ as an ordinary key',
      JSON.parse('{"a":{"__proto__":{"x":1}}}'),
      JSON.parse('{"a":{"b":1,"c":2,"__proto__":{"x":1}},"list":[1,2]}'),
    ],
  ])('%s', (_, overrides, result) => {
    expect(override(base, overrides)).toStrictEqual(result);
  });

  test('does not change the base, and shares nothing with it', () => {
    const result = override(base, { d: 1 });
    expect(base).toStrictEqual({ a: { b: 1, c: 2 }, list: [1, 2] });
    expect(result.a).not.toBe(nested);
    expect(result.list).not.toBe(base.list);
  });
});
