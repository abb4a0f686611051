/** Reads facts from a database in MaxMind's format, with the optional peer `maxmind`. */
import { SecurityEventError } from '../../errors.ts';
import { check, invalidOption, usable } from '../../option-rules.ts';
import { optionalImport } from '../../runtime/optional-import.ts';
import { ALPHA_3_CODES } from './country-codes.ts';
import type { Enricher } from './enrichers.ts';
import type { AddressEnrichment, Geo } from './enrichment.ts';

export interface MaxmindOptions {
  /** A `.mmdb` file: GeoLite2 City, GeoIP2 City or Enterprise, Anonymous IP, or one with the same format. */
  readonly databasePath: string;
  /** The language of city names, such as `de` or `pt-BR`; English if a name is missing. Default `en`. */
  readonly language?: string;
}

interface Maxmind {
  readonly open: (path: string) => Promise<{ readonly get: (address: string) => unknown }>;
}

const TEXT = usable('a non-empty string', (value) => typeof value === 'string' && value !== '');
const RULES = { databasePath: TEXT, language: TEXT };

const loadMaxmind = async (): Promise<Maxmind> => import('maxmind');

/**
 * Creates an enricher that looks addresses up in a database file. The file is read into memory once:
 * create a new enricher when it has changed. `geo` needs city, country and coordinates in the database.
 *
 * `load` replaces the package in tests.
 *
 * @throws SecurityEventError (rejects) `ERR_INVALID_OPTION`; `ERR_PEER_MISSING` if `maxmind` is not
 * installed; `ERR_SETTINGS_FAILED` if the file cannot be read or is not such a database.
 */
export async function maxmindEnricher(
  options: MaxmindOptions,
  load: () => Promise<Maxmind> = loadMaxmind,
): Promise<Enricher> {
  const { databasePath, language = 'en' } = check<MaxmindOptions>(options, RULES);
  if (databasePath === undefined) throw invalidOption('expected databasePath', ['databasePath']);
  const { open } = await optionalImport('maxmind', load);
  const reader = await open(databasePath).catch((cause: unknown) => {
    throw new SecurityEventError('ERR_SETTINGS_FAILED', { cause, path: ['databasePath'] });
  });
  return (address) => factsIn(reader.get(address), language);
}

type Entry = Readonly<Record<string, unknown>>;

const isEntry = (value: unknown): value is Entry => typeof value === 'object' && value !== null;

/** Returns the entry of that name, or an empty one. */
const entryIn = (entry: Entry, name: string): Entry => {
  const value = Object.hasOwn(entry, name) ? entry[name] : undefined;
  return isEntry(value) ? value : {};
};

function factsIn(found: unknown, language: string): AddressEnrichment | undefined {
  if (!isEntry(found)) return undefined;
  // Anonymous IP has these at the top level, Enterprise and Insights among the traits.
  const says = (...names: readonly string[]): boolean =>
    [found, entryIn(found, 'traits')].some((entry) => names.some((name) => entry[name] === true));
  const geo = geoIn(found, language);
  return {
    ...(geo === undefined ? {} : { geo }),
    proxy: says('is_public_proxy', 'is_residential_proxy'),
    tor: says('is_tor_exit_node'),
    vpn: says('is_anonymous_vpn'),
  };
}

function geoIn(found: Entry, language: string): Geo | undefined {
  const names = entryIn(entryIn(found, 'city'), 'names');
  const city = names[language] ?? names['en'];
  const country = ALPHA_3_CODES.get(String(entryIn(found, 'country')['iso_code']));
  const { latitude, longitude } = entryIn(found, 'location');
  if (typeof city !== 'string' || country === undefined) return undefined;
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return undefined;
  return { city, country_code: country, latitude, longitude };
}
