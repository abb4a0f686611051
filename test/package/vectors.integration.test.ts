/** The signatures that the package has for implementers in other languages. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { explainSignature, type SignatureFault } from '../../src/receiver/index.ts';
import { SIGNATURE_FAULTS } from '../../src/receiver/signature-faults.ts';
import { sign, verify } from '../../src/webhook/signature.ts';
import { programOf } from '../helpers/language-receivers.ts';
import { root } from '../helpers/package-files.ts';

interface Vector {
  readonly name: string;
  readonly reason?: SignatureFault;
  readonly secret: string;
  readonly secret_hex: string;
  readonly body?: string;
  readonly body_base64?: string;
  readonly body_repeat?: { readonly text: string; readonly times: number };
  readonly signature: string | null;
}

const path = join(root, 'vectors/signatures.json');
const vectors = JSON.parse(readFileSync(path, 'utf8')) as Readonly<
  Record<'valid' | 'invalid', readonly Vector[]>
>;
const { valid, invalid } = vectors;
const all = [...valid, ...invalid];

function bodyOf({ body_base64, body_repeat }: Vector): Buffer {
  if (body_repeat === undefined) return Buffer.from(body_base64 ?? '', 'base64');
  return Buffer.from(body_repeat.text.repeat(body_repeat.times));
}

/** These faults cannot be proved: nothing that is done to the body or the secret makes them fit. */
const GUESSED: readonly SignatureFault[] = [
  'header-missing',
  'header-malformed',
  'header-other-hash',
  'body-changed',
  'other-secret',
  'secret-missing',
];

const keysOf = (list: readonly Vector[]): Set<string> =>
  new Set(list.flatMap((vector) => Object.keys(vector)));

const titled = (list: readonly Vector[]): [string, Vector][] =>
  list.map((vector) => [vector.name, vector]);

describe('the vectors', () => {
  it('have unique names, and only documented fields', () => {
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    const names = [
      'name',
      'secret',
      'secret_hex',
      'body',
      'body_base64',
      'body_repeat',
      'signature',
    ];
    expect(keysOf(valid)).toEqual(new Set(names));
    expect(keysOf(invalid)).toEqual(
      new Set([...names.filter((name) => name !== 'body_repeat'), 'reason']),
    );
  });

  it.each(titled(all))('have the same content as text and as bytes: %s', (_name, vector) => {
    const { secret, secret_hex, body } = vector;
    expect(Buffer.from(secret).toString('hex')).toBe(secret_hex);
    const bytes = bodyOf(vector);
    // Not by `toEqual`, which takes seconds for a megabyte.
    expect(bytes.equals(Buffer.from(body ?? bytes))).toBe(true);
    const isUtf8 = bytes.equals(Buffer.from(bytes.toString()));
    expect(body !== undefined || vector.body_repeat !== undefined).toBe(isUtf8);
  });

  it.each(titled(valid))('are signed and verified so: %s', (_name, vector) => {
    const { secret, signature } = vector;
    expect(sign(bodyOf(vector), secret)).toBe(signature);
    expect(verify(bodyOf(vector), signature, ['another', secret])).toBe(true);
    expect(verify(bodyOf(vector), signature, `${secret}.`)).toBe(false);
  });

  it.each(titled(invalid))('are refused, for the reason that is explained: %s', (_name, vector) => {
    const { secret, signature, reason = 'header-missing' } = vector;
    // An empty secret is an error of the receiver, beside a usable one it is left out.
    const secrets = secret === '' ? ['', 'another'] : secret;
    expect(verify(bodyOf(vector), signature ?? undefined, secrets)).toBe(false);
    const { faults, isProven, isValid } = explainSignature(bodyOf(vector), signature, secret);
    expect(isValid).toBe(false);
    expect(isProven).toBe(!GUESSED.includes(reason));
    expect(isProven ? faults : [reason]).toEqual([reason]);
    expect(faults).toHaveLength(1);
  });

  it('have one of each fault that can be seen from outside', () => {
    const reasons = new Set(invalid.map(({ reason }) => reason));
    // Of these there are no bytes: the receiver has none, or an object.
    const unseen = ['body-missing', 'body-parsed'];
    expect(reasons).toEqual(
      new Set(Object.keys(SIGNATURE_FAULTS).filter((fault) => !unseen.includes(fault))),
    );
  });

  it("fit and do not fit by Python's hmac, in the program that the page shows", () => {
    const program = programOf('vectors.py');
    const run = (...files: string[]) =>
      execFileSync('python3', ['-c', program, ...files], { encoding: 'utf8', stdio: 'pipe' });
    const usage = 'usage: python3 vectors.py signatures.json\n';
    expect(() => run()).toThrow(expect.objectContaining({ status: 2, stderr: usage }));
    expect(run(path)).toBe(`${all.length} vectors, 0 wrong\n`);
    const swapped = join(tmpdir(), `swapped-vectors-${process.pid}.json`);
    writeFileSync(swapped, JSON.stringify({ valid: invalid, invalid: valid }));
    try {
      expect(() => run(swapped)).toThrow(
        expect.objectContaining({
          status: 1,
          stdout: expect.stringContaining(`${all.length} vectors, ${all.length} wrong`) as unknown,
        }),
      );
    } finally {
      rmSync(swapped);
    }
  });
});
