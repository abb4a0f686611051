/** Hostile headers: each request is answered. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sign } from '../../src/webhook/signature.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { BODY, receiverOf, SECRET } from './receivers.ts';

const GENUINE = sign(BODY, SECRET);

/** Parts of valid headers in any order. */
const wordsOf = (...words: readonly string[]) =>
  fc.array(fc.constantFrom(...words), { maxLength: 6 }).map((parts) => parts.join(''));

const anyValue = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constant(undefined));

const SOME: Readonly<Record<string, fc.Arbitrary<string | undefined>>> = {
  'content-type': fc.oneof(
    { weight: 6, arbitrary: fc.constant('application/json') },
    wordsOf('application/json', ';', ' ', 'charset', '=', '"', 'utf-8', 'text/plain', ','),
    anyValue,
  ),
  'content-encoding': fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    wordsOf('identity', 'gzip', ',', ' '),
    anyValue,
  ),
  'content-length': fc.oneof(
    { weight: 6, arbitrary: fc.constant(String(Buffer.byteLength(BODY))) },
    fc.constantFrom('-1', '1e9', '0x10', 'NaN', '99999999999999999999', ' 5 ', ''),
    anyValue,
  ),
  'transfer-encoding': fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    wordsOf('chunked', 'gzip', ',', ' '),
  ),
  'x-svc-integrity': fc.oneof(
    { weight: 4, arbitrary: fc.constant(GENUINE) },
    wordsOf('sha256', '=', GENUINE, GENUINE.toUpperCase(), ' ', ',', '\0', 'é'),
    fc.stringMatching(/^[0-9a-f]{62,66}$/),
    fc.constant('a-'.repeat(8000)),
    anyValue,
  ),
};

const anyHeaders = fc.record(SOME) as fc.Arbitrary<Record<string, string | undefined>>;
const anyMethod = fc.oneof({ weight: 9, arbitrary: fc.constant('POST') }, anyValue);

test('any headers get an answer, and only valid ones are accepted', async () => {
  const { receiver, errors } = receiverOf({ duplicates: false });
  const [statuses, taken] = [new Set<number>(), new Set<string | undefined>()];
  await fc.assert(
    fc.asyncProperty(anyMethod, anyHeaders, async (method, headers) => {
      const { status, handle } = await receiver.receive({
        method,
        header: (name) => headers[name],
        readBody: async () => Buffer.from(BODY),
      });
      await handle?.();
      statuses.add(status);
      if (status === 204) taken.add(headers['x-svc-integrity']);
    }),
    { numRuns: quickOrNightly(2000, 100_000), seed: 7 },
  );
  expect(statuses).toEqual(new Set([204, 401, 405, 413, 415]));
  expect(taken).toEqual(new Set([GENUINE]));
  expect(errors).toEqual([]);
}, 300_000);
