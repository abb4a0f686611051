/**
 * Connects only to addresses that the network policy allows.
 *
 * A name is looked up once, every address is checked, and the socket connects to the checked
 * addresses instead of looking the name up again: DNS rebinding has no effect. The TCP connection is
 * made here, not by undici, so that the peer is checked before the first byte is sent, TLS included.
 * undici's connector then adds TLS and keeps its session cache.
 */
import { type LookupAddress, type LookupAllOptions, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction, connect as openSocket, type Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { ownProperties } from '../../own-properties.ts';
import type { Clock } from '../../runtime/clock.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import type { PhaseTimings } from '../outcome.ts';
import { checkAddress, type NetworkPolicy } from './ssrf-guard.ts';
import { createTlsUpgrade, type TlsCredentials } from './tls.ts';

/** `dns.lookup` with `all: true`. */
export type LookupAll = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface GuardedConnectOptions {
  readonly network: NetworkPolicy;
  /** For name look-up, TCP and TLS together, in ms. */
  readonly connectTimeoutMs: number;
  /** Default: the system's resolver (`dns.lookup`). */
  readonly lookup?: LookupAll | undefined;
  readonly tls?: TlsCredentials | undefined;
  readonly clock: Clock;
}

export type ConnectPhase = 'dnsMs' | 'tcpMs' | 'tlsMs';

export type ConnectPhases = Pick<PhaseTimings, ConnectPhase>;

/** Observes and aborts one connect. */
export interface ConnectWatch {
  /** Ends a connect in progress. */
  readonly signal: AbortSignal;
  /** Called when a phase succeeds. */
  readonly onPhase: (phase: ConnectPhase, ms: number) => void;
}

export type GuardedConnect = (
  target: buildConnector.Options,
  callback: buildConnector.Callback,
  watch?: ConnectWatch,
) => void;

type Target = buildConnector.Options;

type Addresses = readonly [LookupAddress, ...LookupAddress[]];

/** The same as undici's own connector. */
const SOCKET_OPTIONS = {
  highWaterMark: 64 * 1024,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
} as const;

/**
 * Each address but the last gets the deadline divided by this. Node tries each address once, and its
 * default of 250 ms is too short. Machines without IPv6 could not reach distant receivers, and a lost packet,
 * which TCP resends after a second, made near ones unreachable.
 */
const ADDRESSES_TRIED = 3;

/**
 * Creates the `connect` option of undici's Client. `build` is undici's `buildConnector`. Create one for
 * each set of credentials, since it caches TLS sessions.
 *
 * The connector fails with a SecurityEventError `ERR_ADDRESS_REFUSED`, with an error of code
 * `UND_ERR_CONNECT_TIMEOUT`, or with the resolver's, the system's or OpenSSL's own error.
 */
export function createGuardedConnect(
  build: typeof buildConnector,
  options: GuardedConnectOptions,
): GuardedConnect {
  const { network, connectTimeoutMs: timeoutMs, lookup = systemLookup, clock } = options;
  const secure = createTlsUpgrade(build, options.tls ?? {});

  const open = async (target: Target, signal: AbortSignal, time: Stopwatch): Promise<Socket> => {
    const { hostname } = target;
    const addresses: Addresses =
      isIP(hostname) === 0
        ? await time('dnsMs', () => resolve(hostname, lookup))
        : [withFamily(hostname)];
    for (const { address } of addresses) checkAddress(address, network);
    signal.throwIfAborted();
    const socket = await time('tcpMs', () =>
      openTcp(target, { addresses, signal, addressMs: Math.ceil(timeoutMs / ADDRESSES_TRIED) }),
    );
    try {
      checkPeer(socket, network);
      if (target.protocol !== 'https:') return socket;
      return await time('tlsMs', () => secure(target, socket));
    } catch (error) {
      socket.destroy();
      throw error;
    }
  };

  const connect = async (...[target, callback, watch]: Parameters<GuardedConnect>) => {
    const time = stopwatch(clock, watch);
    const limits = { clock, timeoutMs, ending: watch?.signal };
    let socket: Socket;
    try {
      socket = await withDeadline(limits, (signal) => open(target, signal, time));
    } catch (error) {
      callback(error as Error, null);
      return;
    }
    callback(null, socket);
  };
  return (...parts) => void connect(...parts);
}

type Stopwatch = <T>(phase: ConnectPhase, work: () => Promise<T>) => Promise<T>;

function stopwatch(clock: Clock, watch: ConnectWatch | undefined): Stopwatch {
  return async (phase, work) => {
    const startedAt = clock.monotonicMs();
    const result = await work();
    watch?.onPhase(phase, clock.monotonicMs() - startedAt);
    return result;
  };
}

function resolve(hostname: string, lookup: LookupAll): Promise<Addresses> {
  return new Promise((settle, reject) => {
    lookup(hostname, { all: true }, (error, found) => {
      if (error) {
        reject(error);
        return;
      }
      const [first, ...others] = found.map(({ address }) => withFamily(address));
      // `net` throws an uncaught error for an empty list.
      if (first === undefined) reject(codedError('ENODATA', 'the name has no address'));
      else settle([first, ...others]);
    });
  });
}

function withFamily(address: string): LookupAddress {
  return { address, family: isIP(address) };
}

interface TcpOptions {
  readonly addresses: Addresses;
  readonly signal: AbortSignal;
  /** Time for each address except the last, which has the rest of the deadline. */
  readonly addressMs: number;
}

function openTcp(target: Target, { addresses, signal, addressMs }: TcpOptions): Promise<Socket> {
  return new Promise((settle, reject) => {
    const options = ownProperties({
      ...SOCKET_OPTIONS,
      host: target.hostname,
      port: Number(target.port || (target.protocol === 'https:' ? 443 : 80)),
      localAddress: target.localAddress ?? undefined,
      lookup: lookupFrom(addresses),
      autoSelectFamilyAttemptTimeout: addressMs,
      signal,
    });
    const socket = openSocket(options);
    // The listener stays: an error before undici listens would crash the host.
    socket.once('connect', () => settle(socket)).on('error', reject);
  });
}

function lookupFrom(addresses: Addresses): LookupFunction {
  return (_hostname, { all }, callback) => {
    if (all === true) callback(null, [...addresses]);
    else callback(null, addresses[0].address, addresses[0].family);
  };
}

/** A preloaded proxy or a patched `net` may have connected to another address. */
function checkPeer({ remoteAddress }: Socket, network: NetworkPolicy): void {
  if (remoteAddress === undefined) throw codedError('ECONNRESET', 'the peer closed at once');
  checkAddress(remoteAddress, network);
}

interface ConnectLimits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Ends the connect before its deadline. */
  readonly ending: AbortSignal | undefined;
}

/** Aborts the signal when time is up or `ending` is aborted, but not because `work` has settled. */
function withDeadline<T>(
  { clock, timeoutMs, ending }: ConnectLimits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return new Promise((settle, reject) => {
    const expiry = new AbortController();
    const expire = (): void => {
      expiry.abort();
      reject(codedError('UND_ERR_CONNECT_TIMEOUT', `no connection within ${timeoutMs} ms`));
    };
    const cancelTimer = clock.startTimer(timeoutMs, expire, 'ref');
    const stopListening = ending && onAbort(ending, expire);
    const finish = (): void => {
      stopListening?.();
      cancelTimer();
    };
    work(expiry.signal).finally(finish).then(settle, reject);
  });
}

function codedError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}
