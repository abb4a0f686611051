/** What a destination's TLS connections are checked against, and what they show of ourselves. */

import type { Socket } from 'node:net';
import tls from 'node:tls';
import type { buildConnector } from 'undici';
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

/** Rejects with OpenSSL's, Node's or the system's own error. */
type TlsUpgrade = (target: buildConnector.Options, socket: Socket) => Promise<Socket>;

/** undici hands its options on in an object that inherits: these `tls.connect` would read there. */
const NOT_INHERITED = {
  servername: undefined,
  pskCallback: undefined,
  requestOCSP: undefined,
  enableTrace: undefined,
  onread: undefined,
} as const;

/**
 * The connector is made for the first handshake: credentials that cannot be read fail that, and each
 * further one, and http needs none.
 */
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
    // Said, so that a host's NODE_TLS_REJECT_UNAUTHORIZED=0 does not let anybody read its events.
    rejectUnauthorized: true,
    // undici's own time-out is off: it would cover TLS alone, and its timers are up to a second late.
    timeout: 0,
  });
}

function handshake(
  start: buildConnector.connector,
  target: buildConnector.Options,
): Promise<Socket> {
  return new Promise((settle, reject) => {
    // The error decides: unlike its types say, undici leaves the socket out rather than null.
    start(target, (error, socket) => {
      if (error === null) settle(socket);
      else reject(error);
    });
  });
}
