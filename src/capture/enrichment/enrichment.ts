/** Validates the facts of an enricher, which become part of a record. */
import { ownProperties } from '../../own-properties.ts';
import { cleanText, cutText } from '../request/clean-text.ts';

/** Must be complete: the contract has all four or none. */
export interface Geo {
  city: string;
  /** ISO 3166-1 alpha-3: `NLD`. */
  country_code: string;
  /** Degrees, -90 to 90. */
  latitude: number;
  /** Degrees, -180 to 180. */
  longitude: number;
}

/** Facts of the contract's `actor.ip` that are not in the address registries. Any may be missing. */
export interface AddressEnrichment {
  geo?: Geo;
  proxy?: boolean;
  tor?: boolean;
  vpn?: boolean;
  datacenter?: { name: string; url: string };
}

/** Without a prototype, since facts are read by name. */
export const noFacts = (): AddressEnrichment => ownProperties({});

export interface ReadEnrichment {
  readonly facts: AddressEnrichment;
  /** False if any fact was invalid. */
  readonly isSound: boolean;
}

const MAX_TEXT_LENGTH = 512;
const ALPHA_3 = /^[A-Z]{3}$/;

type Read<T> = (given: unknown) => T | undefined;

const asText: Read<string> = (given) =>
  typeof given === 'string' ? cleanText(cutText(given, MAX_TEXT_LENGTH)) : undefined;

const asFlag: Read<boolean> = (given) => (typeof given === 'boolean' ? given : undefined);

const asDegrees = (given: unknown, limit: number): number | undefined =>
  typeof given === 'number' && Math.abs(given) <= limit ? given : undefined;

const asGeo: Read<Geo> = (given) => {
  const own = ownOf(given);
  const city = asText(own['city']);
  const code = own['country_code'];
  const latitude = asDegrees(own['latitude'], 90);
  const longitude = asDegrees(own['longitude'], 180);
  if (city === undefined || latitude === undefined || longitude === undefined) return undefined;
  if (typeof code !== 'string' || !ALPHA_3.test(code)) return undefined;
  return { city, country_code: code, latitude, longitude };
};

const asDatacenter: Read<{ name: string; url: string }> = (given) => {
  const own = ownOf(given);
  const name = asText(own['name']);
  const url = asText(own['url']);
  return name === undefined || url === undefined ? undefined : { name, url };
};

const READERS = {
  geo: asGeo,
  proxy: asFlag,
  tor: asFlag,
  vpn: asFlag,
  datacenter: asDatacenter,
} satisfies Record<keyof AddressEnrichment, Read<unknown>>;

const ownOf = (given: unknown): Record<string, unknown> =>
  ownProperties(given as Record<string, unknown>);

/** Copies the valid facts, and drops the others. Throws what a getter of `given` throws. */
export function readEnrichment(given: unknown): ReadEnrichment {
  if (given === undefined || given === null) return { facts: noFacts(), isSound: true };
  const own = ownOf(given);
  const facts: Record<string, unknown> = ownProperties({});
  let isSound = typeof given === 'object' && !Array.isArray(given);
  for (const [key, value] of Object.entries(own)) {
    if (value === undefined || value === null) continue;
    const fact = Object.hasOwn(READERS, key)
      ? READERS[key as keyof typeof READERS](value)
      : undefined;
    if (fact === undefined) isSound = false;
    else facts[key] = fact;
  }
  return { facts, isSound };
}
