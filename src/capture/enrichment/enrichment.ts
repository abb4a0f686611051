/** The facts that an enricher may give, checked: what it says ends up in a record of the contract. */
import { ownProperties } from '../../own-properties.ts';
import { cleanText, cutText } from '../request/clean-text.ts';

/** D12: complete, or not given at all. */
export interface Geo {
  city: string;
  /** ISO 3166-1 alpha-3: `NLD`. */
  country_code: string;
  /** Degrees, -90 to 90. */
  latitude: number;
  /** Degrees, -180 to 180. */
  longitude: number;
}

/** Any part of what the contract's `actor.ip` says beyond the address registries. */
export interface AddressEnrichment {
  geo?: Geo;
  proxy?: boolean;
  tor?: boolean;
  vpn?: boolean;
  datacenter?: { name: string; url: string };
}

/** They are read by name, so they inherit nothing. */
export const noFacts = (): AddressEnrichment => ownProperties({});

export interface ReadEnrichment {
  readonly facts: AddressEnrichment;
  /** False where something was given that is no fact. */
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

/** Throws only what a getter of `given` throws. */
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
