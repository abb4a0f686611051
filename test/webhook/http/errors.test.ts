import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SecurityEventError } from '../../../src/errors.ts';
import { failure, failureOf } from '../../../src/webhook/http/errors.ts';
import type { FailureCode } from '../../../src/webhook/outcome.ts';

const withCode = (code: unknown, cause?: unknown): Error =>
  Object.assign(new Error('received text', { cause }), { code });

const words = (text: string): string[] => text.trim().split(/\s+/);

const BY_CODE: Readonly<Record<Exclude<FailureCode, 'aborted'>, readonly string[]>> = {
  'address-refused': ['ERR_ADDRESS_REFUSED'],
  dns: words(`
    ENOTFOUND ENODATA ESERVFAIL EBADNAME EBADRESP EREFUSED ETIMEOUT ENONAME EAI_AGAIN EAI_FAIL`),
  'connection-refused': ['ECONNREFUSED'],
  'network-unreachable': words('ENETUNREACH EHOSTUNREACH ENETDOWN EHOSTDOWN EADDRNOTAVAIL'),
  'connect-timeout': ['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'],
  tls: words(`
    EPROTO UND_ERR_PRX_TLS DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN
    UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE
    UNABLE_TO_DECRYPT_CERT_SIGNATURE UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY CERT_CHAIN_TOO_LONG
    CERT_HAS_EXPIRED CERT_NOT_YET_VALID CERT_REJECTED CERT_REVOKED CERT_SIGNATURE_FAILURE
    CERT_UNTRUSTED ERROR_IN_CERT_NOT_AFTER_FIELD ERROR_IN_CERT_NOT_BEFORE_FIELD HOSTNAME_MISMATCH
    INVALID_CA INVALID_PURPOSE PATH_LENGTH_EXCEEDED
    ERR_SSL_WRONG_VERSION_NUMBER ERR_OSSL_PEM_NO_START_LINE ERR_TLS_CERT_ALTNAME_INVALID CRL_HAS_EXPIRED`),
  'headers-timeout': ['UND_ERR_HEADERS_TIMEOUT'],
  deadline: ['TimeoutError'],
  'undici-missing': ['ERR_PEER_MISSING'],
  'connection-reset': ['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_SOCKET'],
  protocol: words(`
    HPE_INVALID_CONSTANT HTTPParserError UND_ERR_HEADERS_OVERFLOW
    UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_RES_EXCEEDED_MAX_SIZE`),
  network: words('EMFILE EPERM UND_ERR_DESTROYED UND_ERR_INVALID_ARG ERR_INVALID_URL'),
};

const CASES = Object.entries(BY_CODE).flatMap(([code, systemCodes]) =>
  systemCodes.map((systemCode) => [systemCode, code as FailureCode] as const),
);

describe('failureOf', () => {
  test.each(CASES)('maps %s to %s and names it', (systemCode, code) => {
    expect(failureOf(withCode(systemCode))).toEqual(failure(code, systemCode));
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

  test.each([
    'constructor',
    '__proto__',
    'received text',
    'HPE_ received text',
    'ERR_SSL_\n',
    'E',
    `E${'X'.repeat(64)}`,
    ' EOTHER',
    '',
  ])('does not repeat %j, which is not a code', (code) => {
    expect(failureOf(withCode(code))).toEqual(failure('network', 'no error code'));
  });

  test('accepts a code of 64 letters', () => {
    const code = `E${'X'.repeat(63)}`;
    expect(failureOf(withCode(code))).toEqual(failure('network', code));
  });

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

  test('describes every code differently', () => {
    const details = ALL.map((code) => failure(code, 'X').detail);
    expect(new Set(details).size).toBe(ALL.length);
  });
});
