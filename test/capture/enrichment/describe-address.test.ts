import { describe, expect, it, test } from 'vitest';
import { describeAddress } from '../../../src/capture/enrichment/describe-address.ts';
import { createEnrichment } from '../../../src/capture/enrichment/enrichers.ts';

const NONE = { datacenter: null, proxy: false, tor: false, vpn: false };
const PUBLIC = {
  version: 4,
  global: true,
  loopback: false,
  multicast: false,
  private: false,
  reserved: false,
  unspecified: false,
  network_type: 'public',
};
const GEO = { city: 'Delft', country_code: 'NLD', latitude: 52, longitude: 4.4 };

describe('an address', () => {
  test.each([
    ['8.8.8.8', '8.8.8.8', {}],
    ['::ffff:8.8.8.8', '8.8.8.8', {}],
    ['2001:4860:4860:0::8888', '2001:4860:4860::8888', { version: 6 }],
    ['::1', '127.0.0.1', { global: false, private: true, loopback: true, network_type: 'private' }],
    ['224.0.0.1', '224.0.0.1', { global: false, multicast: true, network_type: 'private' }],
  ])('%s has all facts of %s', (text, address, facts) => {
    expect(describeAddress(text)).toEqual({
      address,
      geo: {},
      metadata: { ...PUBLIC, ...NONE, ...facts },
    });
  });

  test.each(['', '1.2.3.4:80'])('is not %j', (text) => {
    expect(describeAddress(text)).toBeUndefined();
  });

  const enrichment = createEnrichment({
    enrichers: [
      () => ({ geo: GEO, tor: true, datacenter: { name: 'a', url: 'https://a.example' } }),
    ],
  });

  it('has the facts of enrichers, but geo only if it is public', () => {
    expect(describeAddress('::ffff:8.8.8.8', { enrichment })).toEqual({
      address: '8.8.8.8',
      geo: GEO,
      metadata: {
        ...PUBLIC,
        ...NONE,
        tor: true,
        datacenter: { name: 'a', url: 'https://a.example' },
      },
    });
    expect(describeAddress('10.0.0.1', { enrichment })).toMatchObject({
      geo: {},
      metadata: { tor: true },
    });
  });

  it('returns copies of cached facts', () => {
    const facts = { geo: GEO, datacenter: { name: 'a', url: 'b' } };
    const kept = { enrichment: { factsOf: () => facts, stats: async () => [] } };
    const { geo, metadata } = describeAddress('8.8.8.8', kept) ?? {};
    expect([geo, metadata?.datacenter]).toEqual([facts.geo, facts.datacenter]);
    expect(geo).not.toBe(facts.geo);
    expect(metadata?.datacenter).not.toBe(facts.datacenter);
  });
});
