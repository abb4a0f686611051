import { expect, test } from 'vitest';
import { refusalOfHead } from '../../src/receiver/refusals.ts';

const HEAD = {
  method: 'POST',
  'content-type': 'application/json',
  'content-length': '100',
  'x-svc-integrity': 'a'.repeat(64),
};

test.each([
  ['what this library sends', {}, undefined],
  ['a body of just the limit', { 'content-length': '1000' }, undefined],
  ['a body above the limit', { 'content-length': '1001' }, 'body-too-large'],
  // The answer to it closes the connection; after others, Node reads the whole body.
  [
    'a body above the limit and everything else wrong',
    { 'content-length': '1001', method: 'PUT', 'content-type': '', 'x-svc-integrity': '' },
    'body-too-large',
  ],
  ['GET', { method: 'GET' }, 'method'],
  ['lower case', { method: 'post' }, 'method'],
  ['no method', { method: undefined }, 'method'],
  ['a charset', { 'content-type': 'application/json; charset=utf-8' }, undefined],
  ['a charset in quotes', { 'content-type': 'Application/JSON ;charset="UTF8"' }, undefined],
  ['another charset', { 'content-type': 'application/json; charset=utf-16' }, 'content-type'],
  ['another type', { 'content-type': 'text/plain' }, 'content-type'],
  ['a type that only begins so', { 'content-type': 'application/jsonp' }, 'content-type'],
  ['no type', { 'content-type': undefined }, 'content-type'],
  ['no coding', { 'content-encoding': 'identity' }, undefined],
  ['no signature', { 'x-svc-integrity': undefined }, 'signature-missing'],
  ['an empty signature', { 'x-svc-integrity': '' }, 'signature-missing'],
  ['a signature of 63 digits', { 'x-svc-integrity': 'a'.repeat(63) }, 'signature-wrong'],
  ['a signature of 65 digits', { 'x-svc-integrity': 'a'.repeat(65) }, 'signature-wrong'],
  ['a signature with a prefix', { 'x-svc-integrity': `sha256=${'a'.repeat(64)}` }, undefined],
  ['a coding', { 'content-encoding': 'gzip' }, 'content-type'],
])('a request with %s', (_what, head, reason) => {
  const { method, ...headers } = { ...HEAD, ...head };
  const header = (name: string) =>
    new Map<string, string | undefined>(Object.entries(headers)).get(name);
  expect(refusalOfHead({ method, header }, 1000)).toBe(reason);
});
