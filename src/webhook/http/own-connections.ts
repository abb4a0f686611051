/** Leases our own connections, by origin and TLS credentials. Loaded with undici: it needs Node's network modules. */
import { BoundedMap } from '../../runtime/bounded-map.ts';
import type { Clock } from '../../runtime/clock.ts';
import { createConnection } from './connection.ts';
import { createGuardedConnect, type GuardedConnect } from './connector.ts';
import type { Undici } from './load-undici.ts';
import type { ConnectionPool, Lease } from './pool.ts';
import type { NetworkPolicy } from './ssrf-guard.ts';
import { credentialsIdentity, type TlsCredentials } from './tls.ts';

/** Maximum number of credentials whose TLS sessions are kept; others cost a full TLS handshake. */
const MAX_CREDENTIALS = 256;

/** What a connection leads to. */
export interface ConnectionTarget {
  readonly origin: string;
  readonly tls: TlsCredentials | undefined;
}

export interface ConnectionSettings {
  readonly network: NetworkPolicy;
  readonly deadlines: { readonly connectMs: number };
  readonly maxResponseBytes: number;
  readonly clock: Clock;
}

export function createLeases(
  pool: ConnectionPool,
  settings: ConnectionSettings,
  undici: Undici,
): (target: ConnectionTarget) => Lease {
  const { maxResponseBytes } = settings;
  const { Client } = undici;
  const connectWith = connectsByCredentials(settings, undici);
  return ({ origin, tls }) => {
    const { id, connect } = connectWith(tls);
    return pool.lease(`${id} ${origin}`, (onLost) =>
      createConnection({ Client, origin, connect, maxResponseBytes, onLost }),
    );
  };
}

interface SharedConnect {
  /** Unique for each set of credentials. */
  readonly id: number;
  readonly connect: GuardedConnect;
}

/** Shares one connect, and its TLS session cache, among destinations with the same credentials. */
function connectsByCredentials(settings: ConnectionSettings, { buildConnector }: Undici) {
  const { network, deadlines, clock } = settings;
  const connects = new BoundedMap<string, SharedConnect>(MAX_CREDENTIALS);
  let count = 0;
  return (tls: TlsCredentials | undefined): SharedConnect => {
    const identity = credentialsIdentity(tls);
    const known = connects.get(identity);
    if (known !== undefined && connects.size < MAX_CREDENTIALS) return known;
    const options = { network, connectTimeoutMs: deadlines.connectMs, tls, clock };
    count += 1;
    const used = known ?? { id: count, connect: createGuardedConnect(buildConnector, options) };
    connects.set(identity, used);
    return used;
  };
}
