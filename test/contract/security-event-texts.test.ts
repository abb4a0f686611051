import fc from 'fast-check';
import { expect, test } from 'vitest';
import { messageToSend } from '../../src/contract/index.ts';
import { jsonTextOf } from '../../src/contract/json-text.ts';
import type { TextOf } from '../../src/contract/scalar-text.ts';
import {
  type SecurityEventTexts,
  securityEventTexts,
} from '../../src/contract/security-event-texts.ts';
import { sampleMessageToSend } from '../../src/testing/index.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { inputs } from './cases/arbitrary-inputs.ts';

const { event, ip } = securityEventTexts() as SecurityEventTexts;
type Fields = Readonly<Record<string, unknown>>;

/** An object whose keys are these, in any order, and each of whose fields has a text. */
function joined(texts: Readonly<Record<string, TextOf>>, given: unknown) {
  const isObject = typeof given === 'object' && given !== null && !Array.isArray(given);
  const keys = Object.keys(texts);
  if (!isObject || Object.keys(given).toSorted().join() !== keys.toSorted().join())
    return undefined;
  const told = keys.map((key) => [key, texts[key]?.((given as Fields)[key])] as const);
  if (told.some(([, text]) => text === undefined)) return undefined;
  return `{${told.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`;
}

/** A message of such fields, and of addresses each of whose fields has a text. */
function joinedMessage(given: unknown): string | undefined {
  const { ips, ...rest } = (given ?? {}) as Fields;
  const [fields, list] = [joined(event, rest), Array.isArray(ips) ? ips : undefined];
  const addresses = list?.map((one) => joined(ip, one));
  if (fields === undefined || addresses === undefined) return undefined;
  if (addresses.includes(undefined)) return undefined;
  return `${fields.slice(0, -1)},"ips":[${addresses.join(',')}]}`;
}

const told = (message: string) => `{"message_type":"security_event","message":${message}}`;
const draft = (message: unknown) => ({ message_type: 'security_event', message });

test.each(['strict', 'open'] as const)(
  'fields that are joined are what the pass over the whole message writes, in the dialect %s',
  (dialect) => {
    const whole = jsonTextOf(messageToSend(dialect));
    let taken = 0;
    fc.assert(
      fc.property(inputs, ({ input }) => {
        const { message = input } = (input ?? {}) as Fields;
        const text = joinedMessage(message);
        if (text === undefined) return;
        taken += 1;
        expect(whole(draft(message))).toBe(told(text));
      }),
      { numRuns: quickOrNightly(500, 5000), seed: 5 },
    );
    expect(taken).toBeGreaterThan(10);
  },
);

test('an address that is joined of its fields is what the pass over the list writes', () => {
  const whole = jsonTextOf(messageToSend('strict'));
  let taken = 0;
  const address = fc.record({
    address: fc.constantFrom('203.0.113.9', '2001:db8::7', 'nowhere', 7),
    date_resolved: fc.constantFrom('2026-08-01T12:00:00.000+00:00', 'today'),
    geo: fc.constantFrom({}, { code: 'FRA', point: [1, -0] }, { city: 'é"', code: 'FRA' }, null),
    is_tor: fc.constantFrom(true, false, 'no'),
  });
  fc.assert(
    fc.property(address, (given) => {
      const message = { ...sampleMessageToSend('security_event').message, ips: [given, given] };
      const text = joinedMessage(message);
      expect(whole(draft(message))).toBe(text && told(text));
      if (text !== undefined) taken += 1;
    }),
    { numRuns: quickOrNightly(200, 2000), seed: 5 },
  );
  expect(taken).toBeGreaterThan(10);
});
