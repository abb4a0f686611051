import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it, test } from 'vitest';
import {
  addressSet,
  type Range,
  rangesOf,
} from '../../../src/capture/client-address/address-ranges.ts';
import { networkListEnricher } from '../../../src/capture/enrichment/network-list-enricher.ts';
import { temporaryFile, temporaryFolder } from '../../helpers/temporary-files.ts';

const setOf = (texts: readonly string[]) =>
  addressSet(texts.flatMap((text) => rangesOf(text) as Range[]));
const holds = (texts: readonly string[], address: string): boolean => setOf(texts)(address);

describe('a set of ranges', () => {
  test.each([
    [['192.0.2.77/24'], '192.0.2.1', true],
    [['192.0.2.1'], '::ffff:192.0.2.1', true],
    [['0.0.0.0/0'], '255.255.255.255', true],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['::/0'], '192.0.2.1', false],
    [[], '192.0.2.1', false],
    [['0.0.0.0/0'], 'unknown', false],
  ])('of %j contains %s: %s', (texts, address, expected) => {
    expect(holds(texts, address)).toBe(expected);
  });

  it('contains the same addresses as a linear search finds', () => {
    const cidr = fc.tuple(fc.nat(63), fc.integer({ min: 24, max: 32 }));
    fc.assert(
      fc.property(fc.array(cidr, { maxLength: 20 }), fc.nat(63), (pairs, byte) => {
        const texts = pairs.map(([last, prefix]) => `192.0.2.${last}/${prefix}`);
        const address = ipaddr.parse(`192.0.2.${byte}`);
        const found = texts.some((text) => address.match(ipaddr.parseCIDR(text)));
        expect(holds(texts, address.toString())).toBe(found);
      }),
    );
  });
});

describe('an enricher of a list of networks', () => {
  const CLOUD = { name: 'Cloud', url: 'https://cloud.example' };

  test.each([
    ['tor', { tor: true }],
    ['vpn', { vpn: true }],
    ['proxy', { proxy: true }],
    [CLOUD, { datacenter: CLOUD }],
  ] as const)('marks %j', (marks, facts) => {
    const enricher = networkListEnricher({ networks: ['192.0.2.0/24'], marks });
    expect(enricher('192.0.2.1')).toEqual(facts);
    expect(enricher('192.0.3.1')).toBeUndefined();
  });

  it('reads a file once, without comments, blank lines and other columns', () => {
    const path = temporaryFile(
      '# exits\r\n\r\n192.0.2.1\r\n  192.0.2.2 # two\n; no\n192.0.2.4/31;SBL1\n2001:db8::/32,x\n',
    );
    const enricher = networkListEnricher({ networks: pathToFileURL(path), marks: 'tor' });
    writeFileSync(path, '');
    const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.5', '2001:db8::1', '192.0.2.3'];
    expect(addresses.map((address) => enricher(address) !== undefined)).toEqual([
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  it('refuses a file with an invalid line, and names the line', () => {
    const networks = temporaryFile('# a\n192.0.2.1\n<html>\n');
    expect(() => networkListEnricher({ networks, marks: 'tor' })).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path: ['networks'],
        message: expect.stringContaining('line 3 of networks is neither a CIDR nor an address'),
      }),
    );
  });

  it('reports a file that cannot be read', () => {
    const networks = join(temporaryFolder(), 'gone.txt');
    expect(() => networkListEnricher({ networks, marks: 'tor' })).toThrow(
      expect.objectContaining({
        code: 'ERR_SETTINGS_FAILED',
        path: ['networks'],
        cause: expect.objectContaining({ code: 'ENOENT' }),
      }),
    );
  });

  test.each([
    [{ marks: 'tor' }, 'networks'],
    [{ networks: [] }, 'marks'],
    [{ networks: [1], marks: 'tor' }, 'networks'],
    [{ networks: [], marks: 'bot' }, 'marks'],
    [{ networks: [], marks: { name: 'a' } }, 'marks'],
    [{ networks: [], marks: { url: 'a' } }, 'marks'],
    [{ networks: [], marks: null }, 'marks'],
  ])('refuses %j for its %s', (options, option) => {
    expect(() => networkListEnricher(options as never)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [option] }),
    );
  });
});
