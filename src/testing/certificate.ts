/** Creates certificates for tests with node:crypto alone (RFC 5280). */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import { systemClock } from '../runtime/clock.ts';
import { bitString, der, integer, objectId, sequence, TAG, time } from './der.ts';

/** PEM texts for `tls.createServer`. A client can trust the certificate as `ca`. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

export interface CertificateOptions {
  /** Its host names and IPv4 addresses. Default: `localhost` and `127.0.0.1`. */
  readonly hosts?: readonly string[];
  /** In milliseconds since the epoch. Default: an hour ago. */
  readonly validFrom?: number;
  /** In milliseconds since the epoch. Default: in a day. */
  readonly validTo?: number;
}

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

const COMMON_NAME = objectId('2.5.4.3');
const SUBJECT_ALT_NAME = objectId('2.5.29.17');
const BASIC_CONSTRAINTS = objectId('2.5.29.19');
const ECDSA_WITH_SHA256 = sequence(objectId('1.2.840.10045.4.3.2'));
const VERSION_3 = der(TAG.context0, integer(Buffer.from([2])));
const YES = der(TAG.boolean, Buffer.from([0xff]));
const SERIAL_BYTES = 15;

const HOST = /^[!-9;-~]+$/;

/**
 * Creates a key (P-256) and a self-signed certificate.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION` if `hosts` is empty or has an IPv6 address or a name that
 * is not ASCII, and for invalid times.
 */
export function createCertificate(options: CertificateOptions = {}): Certificate {
  const given = ownProperties(options);
  const { hosts = ['localhost', '127.0.0.1'] } = given;
  const { validFrom = systemClock.now() - HOUR_MS, validTo = systemClock.now() + DAY_MS } = given;
  if (hosts.length === 0 || !hosts.every((host) => HOST.test(host))) {
    throw refusal('hosts', 'at least one name or IPv4 address, in ASCII');
  }
  if (Number.isNaN(new Date(validFrom).getTime())) throw refusal('validFrom', 'a time');
  if (Number.isNaN(new Date(validTo).getTime())) throw refusal('validTo', 'a time');
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const name = nameOf('security-event-delivery test');
  const content = sequence(
    VERSION_3,
    integer(Buffer.concat([Buffer.from([1]), randomBytes(SERIAL_BYTES)])),
    ECDSA_WITH_SHA256,
    name,
    sequence(time(validFrom), time(validTo)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(TAG.context3, extensions(hosts)),
  );
  const signature = sign('sha256', content, privateKey);
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: pem(sequence(content, ECDSA_WITH_SHA256, bitString(signature))),
  };
}

const refusal = (name: string, expected: string): SecurityEventError =>
  new SecurityEventError('ERR_INVALID_OPTION', {
    detail: `${name}: expected ${expected}`,
    path: [name],
  });

const nameOf = (text: string): Buffer =>
  sequence(der(TAG.set, sequence(COMMON_NAME, der(TAG.utf8String, Buffer.from(text)))));

/** Makes it a certificate authority for these hosts, so that clients can trust it directly. */
function extensions(hosts: readonly string[]): Buffer {
  const names = hosts.map((host) =>
    isIPv4(host)
      ? der(TAG.ipAddress, Buffer.from(host.split('.').map(Number)))
      : der(TAG.dnsName, Buffer.from(host)),
  );
  return sequence(
    sequence(BASIC_CONSTRAINTS, YES, der(TAG.octetString, sequence(YES))),
    sequence(SUBJECT_ALT_NAME, der(TAG.octetString, sequence(...names))),
  );
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
