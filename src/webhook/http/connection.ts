/**
 * An undici Client with the guarded connect: one connection, one request at a time, so the phases of
 * connecting belong to the current request.
 */
import type { Socket } from 'node:net';
import type { buildConnector, Client, Dispatcher } from 'undici';
import { ownProperties } from '../../own-properties.ts';
import { cancelWait } from '../../runtime/on-abort.ts';
import type { ConnectPhases, ConnectWatch, GuardedConnect } from './connector.ts';

export interface ConnectionOptions {
  readonly Client: typeof Client;
  readonly origin: string;
  readonly connect: GuardedConnect;
  /** Maximum bytes of a response body: the connection ends there. */
  readonly maxResponseBytes: number;
  /** Called each time the connection is lost or closed. */
  readonly onLost: () => void;
}

/** How a request got its connection. */
export interface ConnectInfo {
  /** Empty for a reused connection. */
  readonly phases: ConnectPhases;
  /** Absent if unknown. */
  readonly reusedConnection?: boolean;
}

export interface Connection {
  readonly dispatcher: Dispatcher;
  readonly isConnected: boolean;
  /** Must be called before each request; returns a function that returns what is known so far. */
  begin(): () => ConnectInfo;
  /** Ends the request or connect in progress. Resolves when the socket is closed. */
  destroy(): Promise<void>;
}

/** Shorter than the 5 s of Node and uvicorn, so that we close first and never write into a dead connection. */
const KEEP_ALIVE_MS = 4000;

/** Maximum if the receiver sends `Keep-Alive: timeout=`: undici closes the connection 2 s before that time. */
const MAX_KEEP_ALIVE_MS = 60_000;

/**
 * Maximum bytes besides the body: headers, interim responses, chunk framing. undici does not count
 * chunk extensions, reason phrases, white space and empty lines: an endless stream of them would keep
 * the CPU busy until the deadline.
 */
const MAX_BYTES_BESIDE_BODY = 32_768;

/**
 * undici's limit. It is above our limit on bytes, which is therefore reached first. Beyond its limit undici creates an
 * error for each further header in its buffer: 64 KiB of short headers took 300 ms of CPU instead of 30.
 */
const MAX_RESPONSE_HEADER_BYTES = 131_072;

/** Connects on first use, and again if the connection was lost before a request was sent. */
export function createConnection(options: ConnectionOptions): Connection {
  const { Client: UndiciClient, origin, maxResponseBytes, onLost } = options;
  const ending = new AbortController();
  const { connect, begin } = watchConnects(options, ending.signal);
  let isConnected = false;

  const client = new UndiciClient(
    origin,
    ownProperties({
      connect,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
      maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
      maxResponseSize: maxResponseBytes,
    }),
  );
  client.on('connect', () => {
    isConnected = true;
  });
  client.on('disconnect', () => {
    isConnected = false;
    onLost();
  });

  return {
    dispatcher: client,
    get isConnected() {
      return isConnected;
    },
    begin,
    destroy: async () => {
      // `client.destroy` does not end a connect in progress.
      cancelWait(ending);
      await client.destroy();
    },
  };
}

interface WatchedConnects {
  readonly connect: buildConnector.connector;
  readonly begin: () => () => ConnectInfo;
}

function watchConnects(
  { connect, maxResponseBytes }: ConnectionOptions,
  signal: AbortSignal,
): WatchedConnects {
  const maxBytes = maxResponseBytes + MAX_BYTES_BESIDE_BODY;
  let connectCount = 0;
  let phases: ConnectPhases = {};
  let beginRequest: BeginRequest | undefined;

  const onPhase: ConnectWatch['onPhase'] = (phase, ms) => {
    phases = { ...phases, [phase]: ms };
  };
  return {
    connect: (target, callback) => {
      connectCount += 1;
      phases = {};
      const watched: typeof callback = (...result) => {
        const [, socket] = result;
        // Before undici reads from the socket.
        const restartTolerance = socket ? tolerateContinue(socket) : undefined;
        callback(...result);
        // Added after undici's listeners, so that undici reads a status before the limit ends the connection.
        const restartLimit = socket ? limitBytes(socket, maxBytes) : undefined;
        beginRequest = () => {
          restartTolerance?.();
          restartLimit?.();
        };
      };
      connect(target, watched, { signal, onPhase });
    },
    begin: () => {
      const countBefore = connectCount;
      beginRequest?.();
      return () => {
        const reusedConnection = countBefore > 0 && connectCount === countBefore;
        return { phases: reusedConnection ? {} : phases, reusedConnection };
      };
    },
  };
}

/** Must be called before each request: what is counted or watched starts again. */
type BeginRequest = () => void;

/** Destroys the socket when a request reads more than `maxBytes`. */
function limitBytes(socket: Socket, maxBytes: number): BeginRequest {
  let bytesBefore = 0;
  socket.on('readable', () => {
    if (socket.bytesRead - bytesBefore <= maxBytes) return;
    const error = new Error(`more than ${maxBytes} bytes came in`);
    socket.destroy(Object.assign(error, { code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' }));
  });
  return () => {
    bytesBefore = socket.bytesRead;
  };
}

/**
 * Some receivers and proxies send `100 Continue` unasked. undici then ends the connection: the
 * attempt would fail although the messages were accepted, and would be repeated until the horizon.
 * RFC 9110 section 15.2 requires clients to accept any interim response; undici accepts a 102, so a
 * 100 is turned into that. A status line that is split over two chunks is not changed.
 */
export function tolerateContinue(socket: Socket): BeginRequest {
  let isBeforeResponse = true;
  const read = socket.read.bind(socket);
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size);
    if (isBeforeResponse && Buffer.isBuffer(chunk)) isBeforeResponse = hasOnlyInterim(chunk);
    return chunk;
  };
  return () => {
    isBeforeResponse = true;
  };
}

const INTERIM = /^HTTP\/1\.1 1\d\d$/;
const STATUS_LENGTH = 'HTTP/1.1 100'.length;
const HEAD_END = '\r\n\r\n';

/** Turns each 100 into a 102. Returns whether the final response has not begun yet. */
function hasOnlyInterim(bytes: Buffer): boolean {
  let at = 0;
  while (at < bytes.length) {
    const status = bytes.toString('latin1', at, at + STATUS_LENGTH);
    if (!INTERIM.test(status)) return false;
    if (status.endsWith('100')) bytes.write('2', at + STATUS_LENGTH - 1, 'latin1');
    const end = bytes.indexOf(HEAD_END, at, 'latin1');
    if (end < 0) return false;
    at = end + HEAD_END.length;
  }
  return true;
}
