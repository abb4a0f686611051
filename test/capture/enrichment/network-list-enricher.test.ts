import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { addressRanges } from '../../../src/capture/client-address/address-ranges.ts';
import { networkListEnricher } from '../../../src/capture/enrichment/network-list-enricher.ts';

const sizeOf = (texts: readonly string[]): unknown => {
  const ranges = addressRanges(texts);
  return typeof ranges === 'number' ? { fault: ranges } : ranges.size;
};
const holds = (texts: readonly string[], address: string): boolean => {
  const ranges = addressRanges(texts);
  return typeof ranges !== 'number' && ranges.has(address);
};

describe('a set of ranges', () => {
  test.each([
    [['192.0.2.0/24'], '192.0.2.0', true],
    [['192.0.2.0/24'], '192.0.2.255', true],
    [['192.0.2.0/24'], '192.0.1.255', false],
    [['192.0.2.0/24'], '192.0.3.0', false],
    [['192.0.2.77/24'], '192.0.2.1', true],
    [['192.0.2.1'], '192.0.2.1', true],
    [['192.0.2.1'], '::ffff:192.0.2.1', true],
    [['192.0.2.1/32'], '192.0.2.2', false],
    [['0.0.0.0/0'], '255.255.255.255', true],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['::/0'], '192.0.2.1', false],
    [['::/0'], '2001:db8::1', true],
    [['2001:DB8::/32'], '2001:db8:ffff::', true],
    [['2001:db8::/32'], '2001:db9::', false],
    [['2001:db8::1'], '2001:db8::1', true],
    [[], '192.0.2.1', false],
    [['0.0.0.0/0'], 'unknown', false],
  ])('of %j holds %s: %s', (texts, address, expected) => {
    expect(holds(texts, address)).toBe(expected);
  });

  test.each([
    [['10.0.0.0/8', '10.1.0.0/16', '10.2.3.4'], 1],
    [['10.0.0.0/9', '10.128.0.0/9'], 1],
    [['10.0.1.0/24', '10.0.0.0/23', '10.0.3.0/24'], 2],
    [['10.0.0.0/24', '::/24'], 2],
    [['10.0.0.0/24', '10.0.0.0/33'], { fault: 1 }],
    [['::/129'], { fault: 0 }],
    [['10.0.0'], { fault: 0 }],
    [['10.0.0.0/'], { fault: 0 }],
    [['10.0.0.0/-1'], { fault: 0 }],
    [['example.org'], { fault: 0 }],
    [['<html>'], { fault: 0 }],
    [['fe80::1%eth0'], { fault: 0 }],
  ])('of %j has the size %j', (texts, expected) => {
    expect(sizeOf(texts)).toEqual(expected);
  });

  it('holds what a search through all of them finds', () => {
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

  it('may be of 100,000 networks', () => {
    const texts = Array.from(
      { length: 100_000 },
      (_, index) => `${10 + (index >> 15)}.${(index >> 7) & 255}.${(index & 127) * 2}.0/24`,
    );
    const ranges = addressRanges(texts);
    const has = typeof ranges === 'number' ? () => false : ranges.has;
    const some = texts.filter((_, index) => index % 97 === 0);
    expect(some.every((text) => has(text.replace('.0/24', '.9')))).toBe(true);
    expect(
      some.some((text) =>
        has(text.replace(/(\d+)\.0\/24/, (_, third) => `${Number(third) + 1}.0`)),
      ),
    ).toBe(false);
    expect(ranges).toHaveProperty('size', 100_000);
  });
});

describe('an enricher of a list of networks', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'networks-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const listed = (text: string): string => {
    const path = join(folder, 'list.txt');
    writeFileSync(path, text);
    return path;
  };

  test.each(['tor', 'vpn', 'proxy'] as const)('marks %s', (marks) => {
    const enricher = networkListEnricher({ networks: ['192.0.2.0/24'], marks });
    expect(enricher('192.0.2.1')).toEqual({ [marks]: true });
    expect(enricher('192.0.3.1')).toBeUndefined();
  });

  it('marks a datacenter', () => {
    const marks = { name: 'Cloud', url: 'https://cloud.example' };
    const enricher = networkListEnricher({ networks: ['192.0.2.0/24'], marks });
    expect(enricher('192.0.2.1')).toEqual({ datacenter: marks });
  });

  it('reads a file once: comments, blank lines and other columns are left out', () => {
    const path = listed(
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

  it('refuses a file that is no such list, by the line', () => {
    const networks = listed('# a\n192.0.2.1\n<html>\n');
    expect(() => networkListEnricher({ networks, marks: 'tor' })).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path: ['networks'],
        message: expect.stringContaining('line 3 of networks is neither a CIDR nor an address'),
      }),
    );
  });

  it('says that a file cannot be read', () => {
    const networks = join(folder, 'gone.txt');
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
    [{ networks: 7, marks: 'tor' }, 'networks'],
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
