import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sign } from '../../src/webhook/signature.ts';
import { anyCharacter } from '../helpers/any-character.ts';

/** Python's hmac over all cases in one process; it encodes the strings by itself. */
const PYTHON = `
import base64, hashlib, hmac, json, sys
cases = json.load(sys.stdin)
print(json.dumps([
  hmac.new(c['secret'].encode('utf-8'),
           c['text'].encode('utf-8') if 'text' in c else base64.b64decode(c['bytes']),
           hashlib.sha256).hexdigest()
  for c in cases]))
`;

test("sign agrees with Python's hmac for any text, bytes and secret", () => {
  const anyText = fc.string({ unit: anyCharacter, maxLength: 60 });
  const anySecret = fc.oneof(
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 40 }),
    fc.string({ unit: fc.constantFrom('0', '4', '9', 'a', 'f'), minLength: 64, maxLength: 64 }),
  );
  const bodies = fc.oneof(anyText, fc.uint8Array({ maxLength: 300 }));
  const samples = fc.sample(fc.tuple(bodies, anySecret), { numRuns: 300, seed: 7 });
  const cases = samples.map(([body, secret]) =>
    typeof body === 'string'
      ? { secret, text: body }
      : { secret, bytes: Buffer.from(body).toString('base64') },
  );
  const stdout = execFileSync('python3', ['-c', PYTHON], { input: JSON.stringify(cases) });
  expect(samples.map(([body, secret]) => sign(body, secret))).toEqual(
    JSON.parse(stdout.toString()),
  );
}, 30_000);
