import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createCertificate } from '../../src/testing/index.ts';

const read = (options?: Parameters<typeof createCertificate>[0]): X509Certificate =>
  new X509Certificate(createCertificate(options).cert);

describe('createCertificate', () => {
  test('makes a self-signed certificate authority for localhost', () => {
    const { key, cert } = createCertificate();
    const certificate = new X509Certificate(cert);
    expect(certificate.subjectAltName).toBe('DNS:localhost, IP Address:127.0.0.1');
    expect(certificate.ca).toBe(true);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkIssued(certificate)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(certificate.subject).toBe('CN=security-event-delivery test');
  });

  test.each([
    ['1999-12-31T23:59:59Z', '2049-12-31T23:59:59Z'],
    ['2049-12-31T23:59:59Z', '2050-01-01T00:00:00Z'],
    ['1949-12-31T23:59:59Z', '1950-01-01T00:00:00Z'],
    ['1950-01-01T00:00:00Z', '9999-12-31T23:59:59Z'],
  ])('is valid from %s until %s if given', (from, to) => {
    const given = { validFrom: Date.parse(from), validTo: Date.parse(to) };
    const { validFrom, validTo } = read(given);
    expect({ validFrom: Date.parse(validFrom), validTo: Date.parse(validTo) }).toEqual(given);
  });

  test('has the given hosts', () => {
    const hosts = [
      '*.shop.example',
      '10.0.0.255',
      // More than 64 KiB.
      ...Array.from({ length: 4000 }, (_, n) => `host-${n}.example.test`),
    ];
    const names = read({ hosts }).subjectAltName?.split(', ');
    expect(names).toEqual([
      'DNS:*.shop.example',
      'IP Address:10.0.0.255',
      ...hosts.slice(2).map((host) => `DNS:${host}`),
    ]);
  });

  test('has a new key and serial number each time', () => {
    const [one, other] = [read(), read()];
    expect(one.serialNumber).toMatch(/^01[0-9A-F]{30}$/);
    expect(one.serialNumber).not.toBe(other.serialNumber);
    expect(one.publicKey.equals(other.publicKey)).toBe(false);
  });

  test.each([
    ['validFrom', Number.NaN],
    ['validTo', Date.UTC(10_000, 0)],
    ['validTo', Date.UTC(-1, 11)],
    ['hosts', []],
    ['hosts', ['localhost', '::1']],
    ['hosts', ['']],
    ['hosts', ['a b']],
    ['hosts', ['bücher.example']],
  ])('refuses %s: %j', (name, value) => {
    expect(() => createCertificate({ [name]: value })).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION', path: [name] }),
    );
  });
});
