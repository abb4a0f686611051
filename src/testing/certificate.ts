/** Creates certificates for tests with node:crypto alone (RFC 5280). */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { check, invalidOption, type Rules, usable } from '../option-rules.ts';
import { systemClock } from '../runtime/clock.ts';

/** PEM texts for `tls.createServer`. A client can trust the certificate as `ca`. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export interface CertificateOptions {
  /** Its host names and IPv4 addresses. Default: `localhost` and `127.0.0.1`. */
  readonly hosts?: readonly string[] | undefined;
  /** In milliseconds since the epoch. Default: an hour ago. */
  readonly validFrom?: number | undefined;
  /** In milliseconds since the epoch. Default: in a day. */
  readonly validTo?: number | undefined;
}

/**
 * - `self-signed`: for `localhost` and 127.0.0.1; only trusted by a client that has `certificate` as `ca`
 * - `wrong-host`: for another host name
 * - `expired`: since yesterday
 */
export type CertificateKind = 'self-signed' | 'wrong-host' | 'expired';

/** Your own certificate, and other options of Node's TLS server (`ca`, `requestCert`, `maxVersion`). */
export type ReceiverTls = Certificate & TlsOptions;

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** Tags of DER (ITU-T X.690 section 8). The last three are context-specific tags of RFC 5280. */
const TAG = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  extensions: 0xa3,
  dnsName: 0x82,
  ipAddress: 0x87,
} as const;

/** Encoded object ids. */
const COMMON_NAME = Buffer.from('0603550403', 'hex');
const SUBJECT_ALT_NAME = Buffer.from('0603551d11', 'hex');
const BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex');
const ECDSA_WITH_SHA256 = Buffer.from('300a06082a8648ce3d040302', 'hex');
const VERSION_3 = Buffer.from('a003020102', 'hex');
const TRUE = Buffer.from('0101ff', 'hex');
const NO_UNUSED_BITS = Buffer.from([0]);
const SERIAL_BYTES = 15;

const HOST = /^[!-9;-~]+$/;

const isHost = (value: unknown): boolean => typeof value === 'string' && HOST.test(value);

const isTime = (value: unknown): boolean =>
  typeof value === 'number' &&
  value >= Date.parse('0000-01-01T00:00:00Z') &&
  value < Date.UTC(10_000, 0);

const TIME_RULE = usable('milliseconds since the epoch, in the years 0 to 9999', isTime);

const RULES: Rules<keyof CertificateOptions> = {
  hosts: usable(
    'a list of at least one name or IPv4 address, in ASCII',
    (value) => Array.isArray(value) && value.length > 0 && value.every(isHost),
  ),
  validFrom: TIME_RULE,
  validTo: TIME_RULE,
};

/**
 * Creates a key (P-256) and a self-signed certificate.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`, also if `hosts` is empty or has an IPv6 address or a name that
 * is not ASCII.
 */
export function createCertificate(options: CertificateOptions = {}): Certificate {
  const given = check<CertificateOptions>(options, RULES);
  const { hosts = ['localhost', '127.0.0.1'] } = given;
  const { validFrom = systemClock.now() - HOUR_MS, validTo = systemClock.now() + DAY_MS } = given;
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const name = nameOf('security-event-delivery test');
  const tbsCertificate = sequence(
    VERSION_3,
    // The first byte makes the serial number positive.
    der(TAG.integer, Buffer.from([1]), randomBytes(SERIAL_BYTES)),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(validFrom), time(validTo)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(TAG.extensions, extensions(hosts)),
  );
  const signature = sign('sha256', tbsCertificate, privateKey);
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: pem(
      sequence(tbsCertificate, ECDSA_WITH_SHA256, der(TAG.bitString, NO_UNUSED_BITS, signature)),
    ),
  };
}

const nameOf = (text: string): Buffer =>
  sequence(der(TAG.set, sequence(COMMON_NAME, der(TAG.utf8String, Buffer.from(text)))));

/** Returns the extensions. The certificate is its own authority, so that clients can trust it as `ca`. */
function extensions(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIPv4(host)
      ? der(TAG.ipAddress, Buffer.from(host.split('.').map(Number)))
      : der(TAG.dnsName, Buffer.from(host)),
  );
  return sequence(
    sequence(BASIC_CONSTRAINTS, TRUE, der(TAG.octetString, sequence(TRUE))),
    sequence(SUBJECT_ALT_NAME, der(TAG.octetString, sequence(...names))),
  );
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

/** One element: tag, length, content. */
function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from([tag]), lengthBytes(length), ...content]);
}

const sequence = (...content: readonly Uint8Array[]): Buffer => der(TAG.sequence, ...content);

/** UTCTime has two digits for the year, 1950 to 2049 (RFC 5280 section 4.1.2.5). */
function time(epochMs: number): Buffer {
  const digits = new Date(epochMs).toISOString().replace(/\.\d+|[-:T]/g, '');
  return digits >= '1950' && digits < '2050'
    ? der(TAG.utcTime, Buffer.from(digits.slice(2)))
    : der(TAG.generalizedTime, Buffer.from(digits));
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>= 8) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 + bytes.length, ...bytes]);
}

/** Throws ERR_INVALID_OPTION for an unknown kind. */
export function certificateOf(given: CertificateKind | ReceiverTls): ReceiverTls {
  if (typeof given === 'object') return given;
  if (given === 'self-signed') return createCertificate();
  if (given === 'wrong-host') return createCertificate({ hosts: ['elsewhere.example'] });
  if (given !== 'expired') {
    throw invalidOption('tls: expected self-signed, wrong-host, expired or a certificate', ['tls']);
  }
  const now = systemClock.now();
  return createCertificate({ validFrom: now - 2 * DAY_MS, validTo: now - DAY_MS });
}
