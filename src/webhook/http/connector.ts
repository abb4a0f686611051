/**
 * Connects to checked addresses only (D77).
 *
 * A name is looked up once, every answer is judged, and the socket is given the judged answers
 * instead of the name's next look-up, so that a resolver which changes its mind changes nothing.
 * The TCP connection is made here and not by undici: its peer is judged before the first byte,
 * TLS's included. undici's connector then does TLS over it and keeps its session cache.
 */
import { type LookupAddress, type LookupAllOptions, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction, connect as openSocket, type Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { ownProperties } from '../../own-properties.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { cancelWait, onAbort } from '../../runtime/on-abort.ts';
import type { PhaseTimings } from '../outcome.ts';
import { type NetworkPolicy, refuseAddress } from './ssrf-guard.ts';
import { createTlsUpgrade, type TlsCredentials } from './tls.ts';

/** `dns.lookup`, asked for all answers. */
export type LookupAll = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface GuardedConnectOptions {
  readonly network: NetworkPolicy;
  /** For name look-up, TCP and TLS together, in ms. Default 5000 (D76). */
  readonly connectTimeoutMs?: number | undefined;
  /** Default: the system's resolver (`dns.lookup`). */
  readonly lookup?: LookupAll | undefined;
  readonly tls?: TlsCredentials | undefined;
  readonly clock?: Clock | undefined;
}

/** The parts of connecting, in their order. */
export type ConnectPhase = 'dnsMs' | 'tcpMs' | 'tlsMs';

export type ConnectPhases = Pick<PhaseTimings, ConnectPhase>;

/** Who watches one connect. */
export interface ConnectWatch {
  /** Ends the connect at once where it is under way; otherwise does nothing. */
  readonly signal: AbortSignal;
  /** Told of each phase that ends well. */
  readonly onPhase: (phase: ConnectPhase, ms: number) => void;
}

export type GuardedConnect = (
  target: buildConnector.Options,
  callback: buildConnector.Callback,
  watch?: ConnectWatch,
) => void;

type Target = buildConnector.Options;

type Answers = readonly [LookupAddress, ...LookupAddress[]];

const DEFAULT_CONNECT_TIMEOUT_MS = 5000;

/** What undici's own connector sets. */
const SOCKET_OPTIONS = {
  highWaterMark: 64 * 1024,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
} as const;

/**
 * How many addresses of a name the deadline is enough for. Node gives each but the last 250 ms and
 * takes up none again: a far receiver with an IPv6 address, too, was never reached from a machine
 * without IPv6, nor was a near one after a lost packet, which is sent again after a second.
 */
const ADDRESSES_TRIED = 3;

/**
 * For undici's option `connect`. `build` is undici's `buildConnector`. What was made with other
 * credentials must not share it: it keeps the TLS sessions.
 *
 * The connector fails with a SecurityEventError `ERR_ADDRESS_REFUSED`, with an error of code
 * `UND_ERR_CONNECT_TIMEOUT`, or with the resolver's, the system's or OpenSSL's own error.
 */
export function createGuardedConnect(
  build: typeof buildConnector,
  options: GuardedConnectOptions,
): GuardedConnect {
  const { network, lookup = systemLookup, clock = systemClock } = options;
  const timeoutMs = options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  const secure = createTlsUpgrade(build, options.tls ?? {});

  const open = async (target: Target, signal: AbortSignal, time: Stopwatch): Promise<Socket> => {
    const { hostname } = target;
    // An address is its own answer, and no resolver is asked: `net` would not ask one, either.
    const addresses: Answers =
      isIP(hostname) === 0
        ? await time('dnsMs', () => resolve(hostname, lookup))
        : [answer(hostname)];
    for (const { address } of addresses) refuseAddress(address, network);
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

function resolve(hostname: string, lookup: LookupAll): Promise<Answers> {
  return new Promise((settle, reject) => {
    lookup(hostname, { all: true }, (error, answers) => {
      if (error) {
        reject(error);
        return;
      }
      const [first, ...others] = answers.map(({ address }) => answer(address));
      // `net` throws past every handler when a look-up answers with nothing.
      if (first === undefined) reject(codedError('ENODATA', 'the name has no address'));
      else settle([first, ...others]);
    });
  });
}

/** A copy, so that what was judged is what is connected to, whatever becomes of the original. */
function answer(address: string): LookupAddress {
  return { address, family: isIP(address) };
}

interface TcpWay {
  readonly addresses: Answers;
  readonly signal: AbortSignal;
  /** How long each address is tried, but the last, which has the rest of the deadline. */
  readonly addressMs: number;
}

function openTcp(target: Target, { addresses, signal, addressMs }: TcpWay): Promise<Socket> {
  return new Promise((settle, reject) => {
    const options = ownProperties({
      ...SOCKET_OPTIONS,
      host: target.hostname,
      port: Number(target.port || (target.protocol === 'https:' ? 443 : 80)),
      localAddress: target.localAddress ?? undefined,
      lookup: answerFrom(addresses),
      autoSelectFamilyAttemptTimeout: addressMs,
      signal,
    });
    const socket = openSocket(options);
    // The listener stays: an error before undici listens would end the host's process.
    socket.once('connect', () => settle(socket)).on('error', reject);
  });
}

function answerFrom(addresses: Answers): LookupFunction {
  return (_hostname, { all }, callback) => {
    if (all === true) callback(null, [...addresses]);
    else callback(null, addresses[0].address, addresses[0].family);
  };
}

/** Something between us and the kernel (a preloaded proxy, a patched `net`) may have led elsewhere. */
function checkPeer({ remoteAddress }: Socket, network: NetworkPolicy): void {
  // Unknown where the peer was gone again at once: that is no verdict about its address.
  if (remoteAddress === undefined) throw codedError('ECONNRESET', 'the peer closed at once');
  refuseAddress(remoteAddress, network);
}

interface ConnectLimits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Brings the end forward. */
  readonly ending: AbortSignal | undefined;
}

/** The signal is aborted only when time is up, never by what `work` comes to. */
async function withDeadline<T>(
  { clock, timeoutMs, ending }: ConnectLimits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const expiry = new AbortController();
  const wait = new AbortController();
  let isFinished = false;
  const deadline = clock.sleep(timeoutMs, wait.signal).then(() => {
    // Nobody looks at the result any more, and an error with its stack is not free.
    if (isFinished) return undefined as never;
    expiry.abort();
    throw codedError('UND_ERR_CONNECT_TIMEOUT', `no connection within ${timeoutMs} ms`);
  });
  const letGo = ending && onAbort(ending, () => cancelWait(wait));
  try {
    return await Promise.race([work(expiry.signal), deadline]);
  } finally {
    isFinished = true;
    letGo?.();
    cancelWait(wait);
  }
}

function codedError(code: string, message: string): NodeJS.ErrnoException {
  return Object.assign(new Error(message), { code });
}
