import { expect, test } from 'vitest';
import { bodySource } from '../../../src/capture/request/body-source.ts';

const BODY = { a: 1 };

test.each([
  ['application/x-www-form-urlencoded', 'form'],
  ['application/x-www-form-urlencoded; charset=utf-8', 'form'],
  ['Multipart/Form-Data; boundary=x', 'form'],
  ['application/json', 'json'],
  [' APPLICATION/JSON ;charset=utf-8', 'json'],
  ['application/problem+json', 'json'],
  ['application/vnd.a.b+c+json', 'json'],
  ['application/jsonp', 'rest'],
  ['application/xjson', 'rest'],
  ['text/json', 'rest'],
  ['xapplication/json', 'rest'],
  ['text/plain', 'rest'],
  ['', 'rest'],
  [undefined, 'rest'],
])('a body of type %j is in %s', (type, place) => {
  expect(bodySource(BODY, type)).toEqual({ [place]: BODY });
});

test.each([undefined, null])('there is no body in %j', (body) => {
  expect(bodySource(body, 'application/json')).toEqual({});
});

test.each([false, 0, ''])('%j is a body', (body) => {
  expect(bodySource(body, 'application/json')).toEqual({ json: body });
});

test('an empty object without a type is what Express 4 leaves where there is no body', () => {
  expect(bodySource({}, undefined)).toEqual({});
  expect(bodySource({}, 'text/plain')).toEqual({ rest: {} });
  expect(bodySource([], undefined)).toEqual({ rest: [] });
});
