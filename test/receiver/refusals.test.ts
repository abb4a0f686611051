import { expect, test } from 'vitest';
import { refusalOfHead } from '../../src/receiver/refusals.ts';

const HEAD = {
  method: 'POST',
  contentType: 'application/json',
  contentEncoding: undefined,
  contentLength: '100',
  signature: 'a'.repeat(64),
};

test.each([
  ['what this library sends', {}, undefined],
  ['a body of just the limit', { contentLength: '1000' }, undefined],
  ['a body above the limit', { contentLength: '1001' }, 'body-too-large'],
  ['GET', { method: 'GET' }, 'method'],
  ['lower case', { method: 'post' }, 'method'],
  ['no method', { method: undefined }, 'method'],
  ['a charset', { contentType: 'application/json; charset=utf-8' }, undefined],
  ['a charset in quotes', { contentType: 'Application/JSON ;charset="UTF8"' }, undefined],
  ['another charset', { contentType: 'application/json; charset=utf-16' }, 'content-type'],
  ['another type', { contentType: 'text/plain' }, 'content-type'],
  ['a type that only begins so', { contentType: 'application/jsonp' }, 'content-type'],
  ['no type', { contentType: undefined }, 'content-type'],
  ['no coding', { contentEncoding: 'identity' }, undefined],
  ['no signature', { signature: undefined }, 'signature-missing'],
  ['an empty signature', { signature: '' }, 'signature-missing'],
  ['a signature of 63 digits', { signature: 'a'.repeat(63) }, 'signature-wrong'],
  ['a signature of 65 digits', { signature: 'a'.repeat(65) }, 'signature-wrong'],
  ['a signature with a prefix', { signature: `sha256=${'a'.repeat(64)}` }, undefined],
  ['a coding', { contentEncoding: 'gzip' }, 'content-type'],
])('a request with %s', (_what, head, reason) => {
  expect(refusalOfHead({ ...HEAD, ...head }, 1000)).toBe(reason);
});
