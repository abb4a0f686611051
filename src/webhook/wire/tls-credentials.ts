/** What a destination's TLS connections are checked against, and what they show of ourselves. */
import type tls from 'node:tls';

type Pem = string | Buffer;

/** Each in PEM form. What is left out is as Node has it: its own CAs, no certificate of ours. */
export interface TlsCredentials {
  /** Trusted in the place of Node's own CAs. */
  readonly ca?: Pem | readonly Pem[] | undefined;
  /** Shown to a receiver that asks for one. Needs `key`. */
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
}

/** As `tls.connect` takes them. */
export function tlsOptions({ ca, cert, key }: TlsCredentials): tls.SecureContextOptions {
  return {
    ...(ca === undefined ? {} : { ca: listOf(ca) }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

/**
 * Equal for equal contents, whichever objects hold them: settings that are read anew keep their
 * connections, and nobody's connection or TLS session ever serves other credentials. It holds the
 * key: it is for comparing only.
 */
export function credentialsIdentity(credentials: TlsCredentials | undefined): string {
  if (credentials === undefined) return '';
  const { ca, cert, key } = credentials;
  // No CA at all is something else than none given.
  return JSON.stringify([ca, cert, key].map((pem) => pem && listOf(pem).map(String)));
}

function listOf(pem: Pem | readonly Pem[]): Pem[] {
  return typeof pem === 'string' || Buffer.isBuffer(pem) ? [pem] : [...pem];
}
