/** TLS over a connection that is there, by undici's connector, which keeps the sessions. */
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { ownProperties } from '../../own-properties.ts';
import { secureContextOf, type TlsCredentials } from './tls.ts';

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
