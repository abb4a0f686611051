/** Reads facts from lists of networks: Tor exits, VPNs, proxies, datacenters. */
import { readFileSync } from 'node:fs';
import { SecurityEventError } from '../../errors.ts';
import { invalidOption, readOptions, required, usable } from '../../option-rules.ts';
import { addressSet, type Range, rangesOf } from '../client-address/address-ranges.ts';
import type { Enricher } from './enricher-source.ts';
import type { AddressEnrichment } from './enrichment.ts';

export interface NetworkListOptions {
  /**
   * A list of CIDRs and addresses; or a file with one at the start of each line (text after a space, comma,
   * semicolon or `#` is ignored). The file is read once: create a new enricher when it has changed.
   */
  readonly networks: string | URL | readonly string[];
  /** The fact about these addresses: a flag, or their datacenter. */
  readonly marks: 'proxy' | 'tor' | 'vpn' | { readonly name: string; readonly url: string };
}

const FLAGS: readonly unknown[] = ['proxy', 'tor', 'vpn'];

const isDatacenter = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  const { name, url } = value as Record<string, unknown>;
  return typeof name === 'string' && typeof url === 'string';
};

const OPTIONS = {
  networks: required<NetworkListOptions['networks']>(
    usable(
      'a path, a file URL or a list of CIDRs',
      (value) =>
        typeof value === 'string' ||
        value instanceof URL ||
        (Array.isArray(value) && value.every((element) => typeof element === 'string')),
    ),
  ),
  marks: required<NetworkListOptions['marks']>(
    usable(
      '"proxy", "tor", "vpn" or a datacenter with name and url',
      (value) => FLAGS.includes(value) || isDatacenter(value),
    ),
  ),
} as const;

/**
 * Creates an enricher that looks addresses up in a list of networks, with binary search.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`, also for an invalid line; `ERR_SETTINGS_FAILED` if
 * the file cannot be read.
 */
export function networkListEnricher(options: NetworkListOptions): Enricher {
  const { networks, marks } = readOptions(options, OPTIONS);
  const has = addressSet(linesOf(networks).flatMap(rangesOfLine));
  const facts: AddressEnrichment =
    typeof marks === 'string' ? { [marks]: true } : { datacenter: { ...marks } };
  return (address) => (has(address) ? facts : undefined);
}

function linesOf(networks: NetworkListOptions['networks']): readonly string[] {
  if (typeof networks !== 'string' && !(networks instanceof URL)) return networks;
  try {
    return readFileSync(networks, 'utf8').split('\n');
  } catch (cause) {
    throw new SecurityEventError('ERR_SETTINGS_FAILED', { cause, path: ['networks'] });
  }
}

function rangesOfLine(line: string, index: number): readonly Range[] {
  const [text = ''] = line.trim().split(/[\s,;#]/, 1);
  const ranges = text === '' ? [] : rangesOf(text);
  if (ranges !== undefined) return ranges;
  throw invalidOption(`line ${index + 1} of networks is neither a CIDR nor an address`, [
    'networks',
  ]);
}
