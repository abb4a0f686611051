/** The receiver's side of TLS. */
import type { Socket } from 'node:net';
import { createSecureContext, TLSSocket, type TlsOptions } from 'node:tls';
import { SecurityEventError } from '../errors.ts';
import { systemClock } from '../runtime/clock.ts';
import { type Certificate, createCertificate } from './certificate.ts';

/**
 * - `self-signed`: for `localhost` and 127.0.0.1; good for a client that is given `certificate` as
 *   `ca`, and refused by any other
 * - `wrong-host`: for another name
 * - `expired`: since yesterday
 */
export type CertificateKind = 'self-signed' | 'wrong-host' | 'expired';

/** A certificate of your own; what else Node's server takes (`ca`, `requestCert`, `maxVersion`) too. */
export type ReceiverTls = Certificate & TlsOptions;

const DAY_MS = 24 * 60 * 60 * 1000;

/** Throws ERR_INVALID_OPTION for another word. */
export function certificateOf(given: CertificateKind | ReceiverTls): ReceiverTls {
  if (typeof given === 'object') return given;
  if (given === 'self-signed') return createCertificate();
  if (given === 'wrong-host') return createCertificate({ hosts: ['elsewhere.example'] });
  if (given !== 'expired') {
    const detail = 'tls: expected self-signed, wrong-host, expired or a certificate';
    throw new SecurityEventError('ERR_INVALID_OPTION', { detail, path: ['tls'] });
  }
  const now = systemClock.now();
  return createCertificate({ validFrom: now - 2 * DAY_MS, validTo: now - DAY_MS });
}

/** Makes TLS sockets of plain ones. */
export function securing(options: ReceiverTls): (raw: Socket) => Socket {
  const secureContext = createSecureContext(options);
  return (raw) => {
    const secured = new TLSSocket(raw, { ...options, isServer: true, secureContext });
    // A client that refuses the certificate: its own error tells more than this one.
    secured.on('error', () => raw.destroy());
    return secured;
  };
}
