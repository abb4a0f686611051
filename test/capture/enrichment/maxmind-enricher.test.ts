import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { createEnrichment } from '../../../src/capture/enrichment/enrichers.ts';
import {
  ALPHA_3_CODES,
  maxmindEnricher,
} from '../../../src/capture/enrichment/maxmind-enricher.ts';
import { mmdb } from '../../helpers/mmdb.ts';
import { temporaryFolder } from '../../helpers/temporary-files.ts';

const DELFT = {
  city: { names: { en: 'Delft', fr: 'Delft (Pays-Bas)' } },
  country: { iso_code: 'NL' },
  location: { latitude: 52.01, longitude: 4.36 },
};
const GEO = { city: 'Delft', country_code: 'NLD', latitude: 52.01, longitude: 4.36 };
const CLEAN = { proxy: false, tor: false, vpn: false };

type Entry = Parameters<typeof mmdb>[0][string];

/** Entries of the database, and their facts. */
const CASES: readonly (readonly [address: string, entry: Entry, facts: unknown])[] = [
  ['8.8.8.1', DELFT, { geo: GEO, ...CLEAN }],
  ['8.8.8.2', { ...DELFT, city: {} }, CLEAN],
  ['8.8.8.3', { ...DELFT, country: { iso_code: 'ZZ' } }, CLEAN],
  ['8.8.8.4', { ...DELFT, location: { latitude: 52.01 } }, CLEAN],
  ['8.8.8.5', { ...DELFT, location: { longitude: 4.36 } }, CLEAN],
  ['8.8.8.6', { country: { iso_code: 'NL' } }, CLEAN],
  ['8.8.8.7', { is_tor_exit_node: true, is_anonymous: true }, { ...CLEAN, tor: true }],
  ['8.8.8.8', { is_anonymous_vpn: true }, { ...CLEAN, vpn: true }],
  ['8.8.8.9', { is_public_proxy: true }, { ...CLEAN, proxy: true }],
  [
    '8.8.8.10',
    { ...DELFT, traits: { is_residential_proxy: true } },
    { ...CLEAN, geo: GEO, proxy: true },
  ],
  ['8.8.8.11', 'text', undefined],
];

describe('an enricher of a MaxMind database', () => {
  const folder = temporaryFolder(afterAll);
  const databasePath = join(folder, 'city.mmdb');
  beforeAll(() => {
    const entries = CASES.map(([address, entry]) => [address, entry] as const);
    writeFileSync(databasePath, mmdb(Object.fromEntries(entries)));
  });

  test.each([...CASES, ['8.8.8.12', 'no entry', undefined] as const])(
    'returns the complete facts of %s: %j',
    async (address, _entry, facts) => {
      const enricher = await maxmindEnricher({ databasePath });
      expect(enricher(address)).toEqual(facts);
    },
  );

  it('names cities in the given language, or else in English', async () => {
    const facts = ['fr', 'de'].map(async (language) =>
      createEnrichment({ enrichers: [await maxmindEnricher({ databasePath, language })] }).factsOf(
        '8.8.8.1',
      ),
    );
    const cities = (await Promise.all(facts)).map(({ geo }) => geo?.city);
    expect(cities).toEqual(['Delft (Pays-Bas)', 'Delft']);
  });

  it('says which package is missing and how to install it', async () => {
    const cause = new Error("Cannot find package 'maxmind'");
    const enricher = maxmindEnricher({ databasePath }, () => Promise.reject(cause));
    await expect(enricher).rejects.toMatchObject({
      code: 'ERR_PEER_MISSING',
      message: expect.stringContaining('could not be loaded: maxmind (`npm install maxmind@5`).'),
      cause,
    });
  });

  it('reports a missing file, and one that is no database', async () => {
    const failed = { code: 'ERR_SETTINGS_FAILED', path: ['databasePath'] };
    const gone = maxmindEnricher({ databasePath: join(folder, 'gone.mmdb') });
    await expect(gone).rejects.toMatchObject({ ...failed, cause: { code: 'ENOENT' } });
    const broken = join(folder, 'broken.mmdb');
    writeFileSync(broken, 'x'.repeat(1000));
    await expect(maxmindEnricher({ databasePath: broken })).rejects.toMatchObject(failed);
  });

  test.each([
    [{}, 'databasePath'],
    [{ databasePath: '' }, 'databasePath'],
    [{ databasePath: 7 }, 'databasePath'],
    [{ databasePath: 'a', language: '' }, 'language'],
  ])('refuses %j for its %s', async (options, option) => {
    await expect(maxmindEnricher(options as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      path: [option],
    });
  });
});

describe('country codes', () => {
  it('exist once for each country, in capitals', () => {
    const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
    expect(ALPHA_3_CODES.size).toBe(250);
    expect(new Set(ALPHA_3_CODES.values()).size).toBe(250);
    const odd = [...ALPHA_3_CODES].filter(
      ([two, three]) => regions.of(two) === undefined || !/^[A-Z]{3}$/.test(three),
    );
    expect(odd).toEqual([]);
  });

  test.each([
    ['DE', 'DEU'],
    ['ZW', 'ZWE'],
    ['XK', 'XKX'],
  ])('of %s is %s', (two, three) => {
    expect(ALPHA_3_CODES.get(two)).toBe(three);
  });
});
