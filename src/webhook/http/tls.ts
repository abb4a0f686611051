/** What a destination's TLS connections are checked against, and what they show of ourselves. */

import tls from 'node:tls';
import { ownProperties } from '../../own-properties.ts';

type Pem = string | Buffer;

/** Each in PEM form. What is left out is as Node has it: its own CAs, no certificate of ours. */
export interface TlsCredentials {
  /** Trusted in the place of Node's own CAs. */
  readonly ca?: Pem | readonly Pem[] | undefined;
  /** Shown to a receiver that asks for one. Needs `key`. */
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
}

/**
 * What `tls.connect` checks receivers by, in one piece: given the credentials themselves, it would
 * take the CA of a polluted prototype where there is none of ours. Throws OpenSSL's own error where
 * it cannot read them.
 */
export function secureContextOf(credentials: TlsCredentials): tls.SecureContext {
  const { ca, cert, key } = ownProperties(credentials);
  return tls.createSecureContext(
    ownProperties({
      ca: ca === undefined ? undefined : listOf(ca),
      cert,
      key,
      minVersion: minTlsVersion(),
    }),
  );
}

/** The host may ask for more with `--tls-min-v1.3`, but not for less. */
function minTlsVersion(): tls.SecureVersion {
  return tls.DEFAULT_MIN_VERSION === 'TLSv1.3' ? 'TLSv1.3' : 'TLSv1.2';
}

/**
 * Equal for equal contents, whichever objects hold them: settings that are read anew keep their
 * connections, and nobody's connection or TLS session ever serves other credentials. It holds the
 * key: it is for comparing only.
 */
export function credentialsIdentity(credentials: TlsCredentials | undefined): string {
  if (credentials === undefined) return '';
  const { ca, cert, key } = ownProperties(credentials);
  // No CA at all is something else than none given.
  return JSON.stringify([ca, cert, key].map((pem) => pem && listOf(pem).map(String)));
}

function listOf(pem: Pem | readonly Pem[]): Pem[] {
  return typeof pem === 'string' || Buffer.isBuffer(pem) ? [pem] : [...pem];
}
