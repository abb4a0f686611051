import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it, test } from 'vitest';
import type { EnricherFailure } from '../../../src/capture/enrichment/enricher-source.ts';
import {
  createEnrichment,
  type EnrichmentOptions,
} from '../../../src/capture/enrichment/enrichers.ts';
import {
  currentScope,
  RequestScope,
  runInScope,
} from '../../../src/capture/request/request-scope.ts';
import { isOwnWork } from '../../../src/runtime/untraced.ts';
import { nextTurn } from '../../../src/runtime/yield-to-event-loop.ts';

const GEO = { city: 'Delft', country_code: 'NLD', latitude: 52, longitude: 4.4 };
const OTHER = { city: 'Lima', country_code: 'PER', latitude: -12, longitude: -77 };
const IP = '8.8.8.8';
const SOUND = { failed: 0, invalid: 0, slow: 0, skipped: 0 };

const fail = () => {
  throw new Error('fail');
};

/** Promises that the test settles, a clock that it sets, and what was reported. */
function bench(options: Partial<EnrichmentOptions> = {}) {
  let now = 0;
  const asked: string[] = [];
  const settlers: { resolve: (value: never) => void; reject: (error: unknown) => void }[] = [];
  const reported: EnricherFailure[] = [];
  const enrichment = createEnrichment(
    {
      enrichers: [
        (address) => {
          asked.push(address);
          return new Promise((resolve, reject) => settlers.push({ resolve, reject }));
        },
      ],
      onFailure: (failure) => reported.push(failure),
      ...options,
    },
    { monotonicMs: () => now },
  );
  return {
    enrichment,
    asked,
    reported,
    pass: (ms: number) => (now += ms),
    resolve: async (index: number, value: unknown) => {
      settlers[index]?.resolve(value as never);
      await nextTurn();
    },
    reject: async (index: number, error: unknown) => {
      settlers[index]?.reject(error);
      await nextTurn();
    },
  };
}

const factsOf = (...given: unknown[]) => {
  const reported: EnricherFailure[] = [];
  const enrichment = createEnrichment({
    enrichers: given.map((value) => () => value as never),
    onFailure: (failure) => reported.push(failure),
  });
  return { facts: enrichment.factsOf(IP), faults: reported.map(({ fault }) => fault) };
};

describe('synchronous enrichers', () => {
  it('add up: the first place and datacenter, any flag', () => {
    const datacenter = { name: 'a', url: 'https://a.example' };
    const { facts, faults } = factsOf(
      undefined,
      { proxy: true, tor: false },
      { geo: GEO, vpn: true },
      { geo: OTHER, tor: true, proxy: false, datacenter },
      { datacenter: { name: 'b', url: '' } },
      null,
    );
    expect(facts).toEqual({ geo: GEO, proxy: true, tor: true, vpn: true, datacenter });
    expect(faults).toEqual([]);
  });

  test.each<[string, unknown, unknown]>([
    ['half a geo', { geo: { city: 'Delft' }, tor: true }, { tor: true }],
    ['an alpha-2 code', { geo: { ...GEO, country_code: 'NL' } }, {}],
    ['a latitude beyond the pole', { geo: { ...GEO, latitude: 90.1 } }, {}],
    ['a longitude below -180', { geo: { ...GEO, longitude: -180.1 } }, {}],
    ['a latitude that is no number', { geo: { ...GEO, latitude: Number.NaN } }, {}],
    ['a city that is no text', { geo: { ...GEO, city: null } }, {}],
    ['a flag that is no boolean', { proxy: 'yes', vpn: true }, { vpn: true }],
    ['half a datacenter', { datacenter: { name: 'a' } }, {}],
    ['an unknown key', { toR: true, tor: true }, { tor: true }],
    ['a key of every object', { constructor: true }, {}],
    ['text', 'tor', {}],
    ['an array', [], {}],
  ])('that return %s: valid facts count, the rest is reported', (_, given, facts) => {
    expect(factsOf(given)).toEqual({ facts, faults: ['invalid'] });
  });

  it('may return the extreme coordinates, and null for unknown facts', () => {
    const geo = { ...GEO, latitude: -90, longitude: 180 };
    const given = { geo, tor: null, datacenter: undefined };
    expect(factsOf(given)).toEqual({ facts: { geo }, faults: [] });
  });

  it('have their texts cleaned and cut', () => {
    const { facts } = factsOf({ geo: { ...GEO, city: `a\n${'b'.repeat(600)}` } });
    expect(facts.geo?.city).toBe(`a␊${'b'.repeat(510)}`);
  });

  it('that throw lose only their own facts, and are counted and reported once', async () => {
    const error = new Error('gone');
    const reported: EnricherFailure[] = [];
    const throwing = () => {
      throw error;
    };
    const getter = () => ({
      get geo(): never {
        throw error;
      },
    });
    const { factsOf: ask, stats } = createEnrichment({
      enrichers: [throwing, () => ({ tor: true }), getter],
      onFailure: (failure) => {
        reported.push(failure);
        throw new Error('a listener that throws');
      },
    });
    expect([ask(IP), ask(IP)]).toEqual([{ tor: true }, { tor: true }]);
    expect(reported).toEqual([
      { index: 0, fault: 'failed', error },
      { index: 2, fault: 'failed', error },
    ]);
    expect(await stats()).toEqual([{ ...SOUND, failed: 2 }, SOUND, { ...SOUND, failed: 2 }]);
  });
});

describe('asynchronous enrichers', () => {
  it('are not awaited: their facts serve later events of the address', async () => {
    const { enrichment, asked, resolve } = bench();
    expect([enrichment.factsOf(IP), enrichment.factsOf(IP)]).toEqual([{}, {}]);
    await resolve(0, { geo: GEO });
    expect(enrichment.factsOf(IP)).toEqual({ geo: GEO });
    expect(enrichment.factsOf('9.9.9.9')).toEqual({});
    expect(asked).toEqual([IP, '9.9.9.9']);
  });

  it('are called again after an hour', async () => {
    const { enrichment, asked, resolve, pass } = bench();
    enrichment.factsOf(IP);
    await resolve(0, { tor: true });
    pass(3_599_999);
    expect(enrichment.factsOf(IP)).toEqual({ tor: true });
    pass(1);
    expect(enrichment.factsOf(IP)).toEqual({});
    await resolve(1, undefined);
    expect(enrichment.factsOf(IP)).toEqual({});
    expect(asked).toHaveLength(2);
  });

  it('that reject are reported once, and not called for that address for a minute', async () => {
    const { enrichment, asked, reported, reject, pass } = bench();
    enrichment.factsOf(IP);
    await reject(0, 'no');
    pass(59_999);
    expect(enrichment.factsOf(IP)).toEqual({});
    expect(asked).toHaveLength(1);
    pass(1);
    enrichment.factsOf(IP);
    await reject(1, 'no');
    expect(asked).toHaveLength(2);
    expect(reported).toEqual([{ index: 0, fault: 'failed', error: 'no' }]);
    expect(await enrichment.stats()).toEqual([{ ...SOUND, failed: 2 }]);
  });

  it('that resolve with invalid facts are reported', async () => {
    const { enrichment, reported, resolve } = bench();
    enrichment.factsOf(IP);
    await resolve(0, { geo: {}, vpn: true });
    expect(enrichment.factsOf(IP)).toEqual({ vpn: true });
    expect(reported).toEqual([{ index: 0, fault: 'invalid' }]);
  });

  it('may be thenables that throw', async () => {
    // oxlint-disable-next-line unicorn/no-thenable -- what is tested
    const thenable = Object.defineProperty({}, 'then', { value: fail });
    const { enrichment, reported, reject } = bench({ enrichers: [() => thenable] });
    expect(enrichment.factsOf(IP)).toEqual({});
    await reject(0, undefined);
    expect(reported).toEqual([{ index: 0, fault: 'failed', error: new Error('fail') }]);
  });

  it('that do not settle in 30 s are called again, and a late result counts', async () => {
    const { enrichment, asked, reported, pass, resolve } = bench();
    enrichment.factsOf(IP);
    pass(29_999);
    enrichment.factsOf(IP);
    expect(asked).toHaveLength(1);
    pass(1);
    enrichment.factsOf(IP);
    expect(asked).toHaveLength(2);
    expect(reported).toEqual([{ index: 0, fault: 'slow' }]);
    await resolve(0, { tor: true });
    expect(enrichment.factsOf(IP)).toEqual({ tor: true });
  });

  it('have at most 100 pending look-ups', async () => {
    const { enrichment, asked, reported, resolve } = bench();
    for (let index = 0; index < 102; index += 1) enrichment.factsOf(`8.8.0.${index}`);
    expect(asked).toHaveLength(100);
    expect(reported).toEqual([{ index: 0, fault: 'skipped' }]);
    expect(await enrichment.stats()).toEqual([{ ...SOUND, skipped: 2 }]);
    await resolve(7, {});
    enrichment.factsOf('8.8.0.101');
    expect(asked.at(-1)).toBe('8.8.0.101');
  });

  it('keep the most recently used results, up to maxCached', async () => {
    const { enrichment, asked, resolve } = bench({ maxCached: 2 });
    for (const [index, address] of ['8.8.0.1', '8.8.0.2'].entries()) {
      enrichment.factsOf(address);
      await resolve(index, { tor: true });
    }
    enrichment.factsOf('8.8.0.1');
    enrichment.factsOf('8.8.0.3');
    await resolve(2, { tor: true });
    expect(enrichment.factsOf('8.8.0.1')).toEqual({ tor: true });
    expect(enrichment.factsOf('8.8.0.3')).toEqual({ tor: true });
    expect(enrichment.factsOf('8.8.0.2')).toEqual({});
    expect(asked).toEqual(['8.8.0.1', '8.8.0.2', '8.8.0.3', '8.8.0.2']);
  });
});

test.each([
  [{}, 'enrichers'],
  [{ enrichers: [1] }, 'enrichers'],
  [{ enrichers: () => ({}) }, 'enrichers'],
  [{ enrichers: [], onFailure: 1 }, 'onFailure'],
  [{ enrichers: [], maxCached: 0 }, 'maxCached'],
  [{ enrichers: [], cachedMs: 0 }, 'cachedMs'],
  [{ enrichers: [], cachedMs: 2 ** 31 }, 'cachedMs'],
])('%j is refused for its %s', (options, option) => {
  expect(() => createEnrichment(options as never)).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [option] }),
  );
});

const host = new AsyncLocalStorage<string>();
const place = () => [isOwnWork(), host.getStore(), currentScope()];
const OURS = [true, undefined, undefined];

const silent = () => new Promise<undefined>(() => {});

test('an enricher and the listener of its failures are called outside of requests', async () => {
  const scope = new RequestScope(() => ({}));
  const enriched: unknown[] = [];
  const reported: unknown[] = [];
  const throwing = () => {
    enriched.push(place());
    throw new Error('at once');
  };
  const rejecting = async () => {
    enriched.push(place());
    await nextTurn();
    enriched.push(place());
    throw new Error('later');
  };
  const enrichment = createEnrichment({
    enrichers: [throwing, rejecting, silent],
    onFailure: ({ index, fault }) => reported.push([index, fault, place()]),
  });
  host.run('of the request', () => {
    runInScope(scope, () => {
      enrichment.factsOf('203.0.113.9');
      // More than may be open at a time: the last ones are skipped.
      for (let last = 0; last <= 100; last += 1) enrichment.factsOf(`198.51.100.${last}`);
      expect(place()).toEqual([false, 'of the request', scope]);
    });
  });
  await nextTurn();
  await nextTurn();
  expect(new Set(enriched.map((seen) => JSON.stringify(seen)))).toEqual(
    new Set([JSON.stringify(OURS)]),
  );
  expect(reported).toEqual([
    [0, 'failed', OURS],
    [1, 'skipped', OURS],
    [2, 'skipped', OURS],
    [1, 'failed', OURS],
  ]);
});
