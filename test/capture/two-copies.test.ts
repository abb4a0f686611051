/** Two copies of the package in one process, as bundles often have them, share the request. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import * as one from '../../src/capture/index.ts';
import { createReporter, type Reporter } from '../../src/index.ts';

const SHARED = Symbol.for('security-event-delivery.async-context');

const request = {
  method: 'GET',
  url: '/search',
  headers: { host: 'shop.example' },
  socket: { remoteAddress: '203.0.113.9' },
};

/** Another copy: its modules and classes are its own. */
async function otherCopy() {
  vi.resetModules();
  const capture = await import('../../src/capture/index.ts');
  const entry = await import('../../src/index.ts');
  return { ...capture, createReporter: entry.createReporter };
}

describe('two copies of the package', () => {
  const captures = one.createRequestCapture();
  let other: Awaited<ReturnType<typeof otherCopy>>;
  let records: unknown[];
  let reporter: Reporter;

  beforeEach(async () => {
    other = await otherCopy();
    records = [];
    const destination = { write: (line: string) => void records.push(JSON.parse(line)) };
    const service = { svc_id: 'shop-1', name: 'shop', env: 'test' };
    reporter = other.createReporter({ service, log: { destination } });
  });
  afterEach(() => reporter.close());

  test('share the request, its user and its block', () => {
    expect(other.currentContext).not.toBe(one.currentContext);
    captures.run(request, () => {
      other.identify({ uid: 7 });
      expect(one.currentContext().actor?.identifiers).toEqual({ uid: 7 });
      expect(() => other.blockRequest(() => reporter.attack({ ruleset: 'xss' }))).toThrow(
        'The request was blocked.',
      );
      expect(one.currentContext().http?.response).toEqual({ blocked: true, status: 403 });
    });
    expect(records).toMatchObject([
      {
        context: {
          actor: { identifiers: { uid: 7 }, ip: { address: '203.0.113.9' } },
          http: { request: { path: '/search' }, response: { blocked: true, status: 403 } },
        },
      },
    ]);
  });

  test('share the user in nested adapters of the same request', () => {
    const inner = other.createRequestCapture();
    captures.run(request, () => {
      inner.run(request, () => one.identify({ uid: 7 }));
      expect(other.currentContext().actor?.identifiers).toEqual({ uid: 7 });
    });
  });

  test('do not report each other’s requests', async () => {
    const { untraced } = await import('../../src/runtime/untraced.ts');
    vi.resetModules();
    const { untraced: ofThird } = await import('../../src/runtime/untraced.ts');
    expect(ofThird).not.toBe(untraced);
    for (const run of [untraced, ofThird]) run(() => reporter.attack({ ruleset: 'ssrf' }));
    expect(await reporter.stats()).toMatchObject({ ownWork: 2, written: 0 });
  });

  test('have reporters that report in the same request', () => {
    const ownRecords: string[] = [];
    const own = createReporter({
      service: { svc_id: 'own-1', name: 'own', env: 'test' },
      log: { destination: { write: (line) => void ownRecords.push(line) } },
    });
    captures.run(request, () => {
      for (const each of [own, reporter, own]) each.attack({ ruleset: 'xss' });
    });
    expect(ownRecords).toHaveLength(2);
    expect(records).toMatchObject([{ context: { service: { svc_id: 'shop-1' } } }]);
  });
});

describe('the storage that copies share', () => {
  test('is not created by an import', async () => {
    const shared = Object.getOwnPropertyDescriptor(globalThis, SHARED);
    Reflect.deleteProperty(globalThis, SHARED);
    const { currentContext } = await otherCopy();
    expect(Object.hasOwn(globalThis, SHARED)).toBe(false);
    currentContext();
    expect(Object.hasOwn(globalThis, SHARED)).toBe(true);
    Object.defineProperty(globalThis, SHARED, shared ?? {});
  });

  test.each([
    ['the globals are frozen', false],
    ['another package has taken the name', true],
  ])('is a copy’s own if %s', async (_, isTaken) => {
    const shared = Object.getOwnPropertyDescriptor(globalThis, SHARED);
    Object.defineProperty(globalThis, SHARED, { configurable: true, value: isTaken ? 7 : null });
    const define = vi.spyOn(Reflect, 'defineProperty').mockReturnValue(false);
    const copy = await otherCopy();
    copy.createRequestCapture().run(request, () => {
      expect(copy.currentContext().http?.request).toMatchObject({ path: '/search' });
      expect(one.currentContext()).toEqual({});
    });
    define.mockRestore();
    Object.defineProperty(globalThis, SHARED, shared ?? {});
  });
});
