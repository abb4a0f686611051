import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SecurityEventError } from '../../../src/errors.ts';
import { failure, failureOf } from '../../../src/webhook/http/errors.ts';
import type { FailureCode } from '../../../src/webhook/outcome.ts';

const withCode = (code: unknown, cause?: unknown): Error =>
  Object.assign(new Error('received text', { cause }), { code });

/** One system code for each failure, and one for each family of codes. */
const BY_CODE: Readonly<Record<Exclude<FailureCode, 'aborted'>, readonly string[]>> = {
  'address-refused': ['ERR_ADDRESS_REFUSED'],
  dns: ['ENOTFOUND', 'EAI_AGAIN'],
  'connection-refused': ['ECONNREFUSED'],
  'network-unreachable': ['EHOSTUNREACH'],
  'connect-timeout': ['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'],
  tls: [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'CERT_HAS_EXPIRED',
    'ERROR_IN_CERT_NOT_AFTER_FIELD',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'ERR_OSSL_PEM_NO_START_LINE',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CRL_HAS_EXPIRED',
  ],
  'headers-timeout': ['UND_ERR_HEADERS_TIMEOUT'],
  deadline: ['TimeoutError'],
  'undici-missing': ['ERR_PEER_MISSING'],
  'connection-reset': ['ECONNRESET', 'UND_ERR_SOCKET'],
  protocol: ['HPE_INVALID_CONSTANT', 'HTTPParserError', 'UND_ERR_RES_EXCEEDED_MAX_SIZE'],
  network: ['EMFILE'],
};

const CASES = Object.entries(BY_CODE).flatMap(([code, systemCodes]) =>
  systemCodes.map((systemCode) => [systemCode, code as FailureCode] as const),
);

describe('failureOf', () => {
  test.each(CASES)('maps %s to %s and names it', (systemCode, code) => {
    expect(failureOf(withCode(systemCode))).toEqual(failure(code, systemCode));
  });

  test.each([
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'check that the port of the webhook URL speaks HTTPS'],
    ['ERR_OSSL_PEM_NO_START_LINE', 'pass PEM texts (not paths) as `cert` and `key` of `tls`'],
    ['ERR_OSSL_X509_KEY_VALUES_MISMATCH', 'pass the private key of `cert` as `key` of `tls`'],
    ['CERT_HAS_EXPIRED', 'name its file in NODE_EXTRA_CA_CERTS'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'or pass PEM text (not a path) in `tls.ca` of a sender'],
  ])('says what to do about %s', (systemCode, advice) => {
    expect(failureOf(withCode(systemCode)).detail).toContain(advice);
  });

  test('uses the name of an error whose code is a number, such as a DOMException', () => {
    expect(failureOf(new DOMException('x', 'TimeoutError'))).toEqual(
      failure('deadline', 'TimeoutError'),
    );
    expect(failureOf(new DOMException('x', 'AbortError'))).toEqual(
      failure('network', 'no error code'),
    );
  });

  test('repeats the message of the network guard, which names its rule', () => {
    const refused = new SecurityEventError('ERR_ADDRESS_REFUSED', { detail: 'rule loopback' });
    expect(failureOf(refused)).toEqual({
      kind: 'failure',
      code: 'address-refused',
      detail: refused.message,
    });
    expect(refused.message).toContain('rule loopback');
  });

  test.each([
    ['the cause of an error without one', new TypeError('x', { cause: withCode('ECONNRESET') }), 1],
    ['the cause of an unknown one', withCode('E_OTHER', withCode('ECONNRESET')), 1],
    ['the fourth error', withCode('A1', withCode('A2', withCode('A3', withCode('EPIPE')))), 1],
    [
      'not the fifth',
      withCode('A1', withCode('A2', withCode('A3', withCode('A4', withCode('EPIPE'))))),
      0,
    ],
  ])('looks for a code in %s', (_what, error, isFound) => {
    expect(failureOf(error).code).toBe(isFound === 1 ? 'connection-reset' : 'network');
  });

  test('names the outermost code if no code is known', () => {
    expect(failureOf(withCode('E_OUTER', withCode('E_INNER')))).toEqual(
      failure('network', 'E_OUTER'),
    );
  });

  test('recognises errors of another realm, such as a sandbox', () => {
    const script =
      "new TypeError('x', { cause: Object.assign(new Error('y'), { code: 'EPIPE' }) })";
    const error: unknown = runInNewContext(script);
    expect(error).not.toBeInstanceOf(Error);
    expect(failureOf(error)).toEqual(failure('connection-reset', 'EPIPE'));
  });

  test('terminates if an error is its own cause', () => {
    const error = new Error('x');
    error.cause = error;
    expect(failureOf(error)).toEqual(failure('network', 'no error code'));
  });

  test.each(['constructor', 'HPE_ received text', 'ERR_SSL_\n', 'E', `E${'X'.repeat(64)}`])(
    'does not repeat %j, which is not a code',
    (code) => {
      expect(failureOf(withCode(code))).toEqual(failure('network', 'no error code'));
    },
  );

  test('contains nothing of the thrown value', () => {
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        expect(failureOf(thrown)).toEqual(failure('network', 'no error code'));
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!/^[A-Z]/.test(text));
        expect(failureOf(withCode(text))).toEqual(failure('network', 'no error code'));
      }),
    );
  });
});

describe('failure', () => {
  const ALL = [...(Object.keys(BY_CODE) as FailureCode[]), 'aborted'] as const;

  test.each(ALL)('describes %s in one sentence: what happened, mark, advice', (code) => {
    const { detail } = failure(code, 'MARK');
    expect(detail).toMatch(/^[A-Z][^.;()]+ \(MARK\); [a-z`][^;]+\.$/);
  });
});
