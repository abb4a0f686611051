/** TLS credentials of a destination: trusted CAs, and the client certificate. */
import type { Socket } from 'node:net';
import tls from 'node:tls';
import type { buildConnector } from 'undici';
import { ownProperties } from '../../own-properties.ts';

type Pem = string | Buffer;

/** Each in PEM format. */
export interface TlsCredentials {
  /** Trusted CAs. Default: Node's own CAs. */
  readonly ca?: Pem | readonly Pem[] | undefined;
  /** Client certificate, for receivers that request one. Needs `key`. */
  readonly cert?: Pem | undefined;
  readonly key?: Pem | undefined;
}

/**
 * Creates a context, since `tls.connect` with the credentials themselves would read a CA from a
 * polluted prototype. Throws OpenSSL's own error if they cannot be read.
 */
function secureContextOf(credentials: TlsCredentials): tls.SecureContext {
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

/** The host may raise the minimum with `--tls-min-v1.3`, but not lower it. */
function minTlsVersion(): tls.SecureVersion {
  return tls.DEFAULT_MIN_VERSION === 'TLSv1.3' ? 'TLSv1.3' : 'TLSv1.2';
}

/**
 * Returns a text that is equal for equal credentials, so that reloaded settings keep their
 * connections and no connection or TLS session serves other credentials. It contains the private
 * key: use it only to compare.
 */
export function credentialsIdentity(credentials: TlsCredentials | undefined): string {
  if (credentials === undefined) return '';
  const { ca, cert, key } = ownProperties(credentials);
  // An empty list of CAs differs from an absent one.
  return JSON.stringify([ca, cert, key].map((pem) => pem && listOf(pem).map(String)));
}

function listOf(pem: Pem | readonly Pem[]): Pem[] {
  return typeof pem === 'string' || Buffer.isBuffer(pem) ? [pem] : [...pem];
}

/** Rejects with OpenSSL's, Node's or the system's own error. */
type TlsUpgrade = (target: buildConnector.Options, socket: Socket) => Promise<Socket>;

/** Options that `tls.connect` would otherwise read from a polluted prototype: undici passes it an ordinary object. */
const NOT_INHERITED = {
  servername: undefined,
  pskCallback: undefined,
  requestOCSP: undefined,
  enableTrace: undefined,
  onread: undefined,
} as const;

/** Reads the credentials at the first handshake. Unreadable ones fail each handshake. */
export function createTlsUpgrade(
  build: typeof buildConnector,
  credentials: TlsCredentials,
): TlsUpgrade {
  let start: buildConnector.connector | undefined;
  return async (target, httpSocket) => {
    start ??= build(connectorOptions(credentials));
    return await handshake(start, { ...target, httpSocket });
  };
}

function connectorOptions(credentials: TlsCredentials): buildConnector.BuildOptions {
  return ownProperties({
    ...NOT_INHERITED,
    secureContext: secureContextOf(credentials),
    // Explicit: the host may have set NODE_TLS_REJECT_UNAUTHORIZED=0.
    rejectUnauthorized: true,
    // Off: undici's timeout would cover TLS alone, and its timers are up to a second late.
    timeout: 0,
  });
}

function handshake(
  start: buildConnector.connector,
  target: buildConnector.Options,
): Promise<Socket> {
  return new Promise((settle, reject) => {
    // Tests the error: contrary to its types, undici passes no socket rather than null.
    start(target, (error, socket) => {
      if (error === null) settle(socket);
      else reject(error);
    });
  });
}
