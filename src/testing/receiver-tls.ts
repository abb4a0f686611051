/** TLS of the receiver. */
import type { Socket } from 'node:net';
import { createSecureContext, TLSSocket, type TlsOptions } from 'node:tls';
import { SecurityEventError } from '../errors.ts';
import { systemClock } from '../runtime/clock.ts';
import { type Certificate, createCertificate } from './certificate.ts';

/**
 * - `self-signed`: for `localhost` and 127.0.0.1; only trusted by a client that has `certificate` as `ca`
 * - `wrong-host`: for another name
 * - `expired`: since yesterday
 */
export type CertificateKind = 'self-signed' | 'wrong-host' | 'expired';

/** Your own certificate, and other options of Node's TLS server (`ca`, `requestCert`, `maxVersion`). */
export type ReceiverTls = Certificate & TlsOptions;

const DAY_MS = 24 * 60 * 60 * 1000;

/** Throws ERR_INVALID_OPTION for an unknown kind. */
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

/** Returns a function that wraps sockets with TLS. */
export function securing(options: ReceiverTls): (raw: Socket) => Socket {
  const secureContext = createSecureContext(options);
  return (raw) => {
    const secured = new TLSSocket(raw, { ...options, isServer: true, secureContext });
    // The client refuses the certificate, and has the better error.
    secured.on('error', () => raw.destroy());
    return secured;
  };
}
