import { describe, expect, test } from 'vitest';
import { describeAddress } from '../../../src/capture/enrichment/describe-address.ts';
import {
  identify,
  type RequestContext,
  RequestScope,
  runInScope,
} from '../../../src/capture/request/request-scope.ts';
import { LogRecord } from '../../../src/contract/index.ts';
import { smallRecord } from '../../helpers/log-records.ts';

const captured = (): Required<RequestContext> => ({
  actor: { identifiers: null, ip: describeAddress('203.0.113.9') as never, svc_identifier: null },
  http: { request: {}, response: { blocked: false } },
});

describe('a scope', () => {
  test('has the user of the last `identify`', () => {
    const scope = new RequestScope(captured);
    const identifiers: Record<string, string> = { email: 'ada@example.com' };
    scope.identify(identifiers, 'user 7');
    identifiers['email'] = 'changed later';
    expect(scope.context().actor).toEqual({
      ...captured().actor,
      identifiers: { email: 'ada@example.com' },
      svc_identifier: 'dXNlciA3',
    });
    scope.identify({ uid: 8 });
    expect(scope.context().actor).toMatchObject({ identifiers: { uid: 8 }, svc_identifier: null });
    scope.identify(null);
    expect(scope.context().actor).toEqual(captured().actor);
  });

  test.each<[unknown, unknown, unknown]>([
    [{ uid: { hex: 'f0' }, email: 'a@b.c' }, undefined, { email: 'a@b.c' }],
    [{ uid: Number.NaN, age: null, admin: false }, undefined, { admin: false }],
    [{ uid: Symbol('7') }, undefined, null],
    ['u-1', undefined, null],
    [[7], undefined, null],
    [{ uid: 7 }, 7, { uid: 7 }],
  ])(
    'leaves out what no record can have: identify(%o, %o)',
    (given, svcIdentifier, identifiers) => {
      const scope = new RequestScope(captured);
      expect(scope.identify(given as never, svcIdentifier as never)).toBe(false);
      expect(scope.context().actor).toMatchObject({ identifiers, svc_identifier: null });
    },
  );

  test('leaves out identifiers whose getter throws', () => {
    const scope = new RequestScope(captured);
    const given = {
      get uid(): string {
        throw new Error('thrown by the host');
      },
    };
    expect(scope.identify(given)).toBe(false);
    expect(scope.context().actor?.identifiers).toBeNull();
  });

  test.each<[unknown, unknown]>([
    [{ uid: 7n, email: undefined }, { uid: '7' }],
    [undefined, null],
    [null, null],
  ])('takes %o as identifiers', (given, identifiers) => {
    const scope = new RequestScope(captured);
    expect(scope.identify(given as never)).toBe(true);
    expect(scope.context().actor?.identifiers).toEqual(identifiers);
  });

  test.each([99, 600, 999, 200.5, Number.NaN, '200', null])(
    'ignores a status outside the contract: %j',
    (status) => {
      const scope = new RequestScope(captured, { status: () => status as number });
      expect(scope.context().http?.response).toEqual({ blocked: false });
    },
  );

  test.each([100, 599])('accepts the lowest and highest status: %j', (status) => {
    const scope = new RequestScope(captured, { status: () => status });
    expect(scope.context().http?.response).toEqual({ blocked: false, status });
  });

  test('has no status if reading it throws', () => {
    const scope = new RequestScope(captured, {
      status: () => {
        throw new Error('the response is gone');
      },
    });
    expect(scope.context()).toEqual(captured());
  });

  test('shares its state with the enclosing scope of the same request', () => {
    const original = { request: {} };
    const outer = new RequestScope(captured, original);
    outer.identify({ uid: 7 });
    const nested = (scope: RequestScope, options = {}) =>
      runInScope(scope, () => new RequestScope(captured, options));
    const inner = nested(outer, original);
    const other = nested(outer, { request: {} });
    const unnamed = nested(outer);
    const within = nested(unnamed);
    const identifiers = [inner, other, unnamed, within].map(
      (scope) => scope.context().actor?.identifiers,
    );
    expect(identifiers).toEqual([{ uid: 7 }, null, null, null]);
    expect(outer.context()).toBe(outer.context());
    inner.identify({ uid: 8 });
    expect(outer.context().actor?.identifiers).toEqual({ uid: 8 });
  });

  test('returns frozen contexts', () => {
    const scope = new RequestScope(captured);
    const before = scope.context();
    scope.identify({ uid: 7 });
    const { service } = smallRecord().context;
    const record = { ...smallRecord(), context: { ...scope.context(), service } };
    expect(LogRecord.parse(record).context.actor?.identifiers).toEqual({ uid: 7 });
    expect(before).toEqual(captured());
    expect(() => Object.assign(before, { actor: undefined })).toThrow(TypeError);
  });

  test('is empty if its request cannot be read or has no facts', () => {
    const unreadable = new RequestScope(() => {
      throw new Error('the socket is gone');
    });
    for (const scope of [unreadable, new RequestScope(() => ({}))]) {
      scope.identify({ uid: 7 });
      scope.addResponse({ status: 500 });
      expect(scope.context()).toEqual({});
    }
  });
});

describe('the current scope', () => {
  test('is used by identify, which returns whether there is one', () => {
    const scope = new RequestScope(captured);
    expect(identify({ uid: 1 })).toBe(false);
    expect(runInScope(scope, () => identify({ uid: 2 }, 'two'))).toBe(true);
    expect(scope.context().actor).toMatchObject({
      identifiers: { uid: 2 },
      svc_identifier: 'dHdv',
    });
  });
});
