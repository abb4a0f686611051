/**
 * An undici Client over the guarded connect: one connection, one request at a time. So whatever is
 * seen of connecting belongs to the request that waits for it.
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
  /** Bytes of response body after which the connection ends. */
  readonly maxResponseBytes: number;
  /** Called each time the connection is lost, whoever ended it. */
  readonly onLost: () => void;
}

/** How a request got its connection. */
export interface ConnectCourse {
  /** Empty where it was reused. */
  readonly phases: ConnectPhases;
  /** Absent where nobody tells. */
  readonly reusedConnection?: boolean;
}

export interface Connection {
  readonly dispatcher: Dispatcher;
  readonly isConnected: boolean;
  /** To be called before each request; the function handed back tells what is known by now. */
  begin(): () => ConnectCourse;
  /** What is under way ends, connecting too. Resolves when the socket is closed. */
  destroy(): Promise<void>;
}

/**
 * Shorter than what common receivers grant idle connections (Node and uvicorn 5 s): whoever closes
 * later may write into a connection that is already dead.
 */
const KEEP_ALIVE_MS = 4000;

/** For a receiver that tells what it grants (`Keep-Alive: timeout=`); undici stays 2 s below that. */
const MAX_KEEP_ALIVE_MS = 60_000;

/**
 * What a receiver may send beside the body: headers, interim responses, the framing of chunks. undici
 * counts some of these, but not all: chunk extensions, reason phrases, white space and empty lines
 * without end would keep the CPU busy until the deadline.
 */
const MAX_BYTES_BESIDE_BODY = 32_768;

/**
 * More than comes in before the limit above counts. Past its own limit undici makes an error of each
 * further header that is already here: of 64 KiB of short ones that took 300 ms of CPU, now 30.
 */
const MAX_RESPONSE_HEADER_BYTES = 131_072;

/** Connects when first used, and again where the connection was lost before a request went out. */
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
      // Its end is the connection's: read or not, nothing larger came in.
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
      // undici does not reach a connection that is still being made.
      cancelWait(ending);
      await client.destroy();
    },
  };
}

interface WatchedConnects {
  readonly connect: buildConnector.connector;
  readonly begin: () => () => ConnectCourse;
}

function watchConnects(
  { connect, maxResponseBytes }: ConnectionOptions,
  signal: AbortSignal,
): WatchedConnects {
  const maxBytes = maxResponseBytes + MAX_BYTES_BESIDE_BODY;
  let connectCount = 0;
  let phases: ConnectPhases = {};
  let renew: (() => void) | undefined;

  const onPhase: ConnectWatch['onPhase'] = (phase, ms) => {
    phases = { ...phases, [phase]: ms };
  };
  return {
    connect: (target, callback) => {
      connectCount += 1;
      phases = {};
      const watched: typeof callback = (...result) => {
        const [, socket] = result;
        // Before undici reads from it.
        const tolerance = socket ? tolerateContinue(socket) : undefined;
        callback(...result);
        // Behind undici's listeners: where it finds a status in what came in, that is the result.
        const allowance = socket ? limitBytes(socket, maxBytes) : undefined;
        renew = () => {
          tolerance?.renew();
          allowance?.renew();
        };
      };
      connect(target, watched, { signal, onPhase });
    },
    begin: () => {
      const countBefore = connectCount;
      renew?.();
      return () => {
        const reusedConnection = countBefore > 0 && connectCount === countBefore;
        return { phases: reusedConnection ? {} : phases, reusedConnection };
      };
    },
  };
}

interface Allowance {
  renew(): void;
}

/** Destroys a socket that reads more than so many bytes between two renewals. */
function limitBytes(socket: Socket, maxBytes: number): Allowance {
  let bytesBefore = 0;
  socket.on('readable', () => {
    if (socket.bytesRead - bytesBefore <= maxBytes) return;
    const error = new Error(`more than ${maxBytes} bytes came in`);
    socket.destroy(Object.assign(error, { code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' }));
  });
  return {
    renew: () => {
      bytesBefore = socket.bytesRead;
    },
  };
}

/**
 * Some receivers, and proxies before them, say 100 to whoever did not ask for it. undici ends their
 * connection: the attempt has failed though its messages were taken, and they would be sent again
 * until the horizon. RFC 9110 section 15.2 wants any interim response to be expected; undici does
 * so with the others, and gets to see a 102 here. Split over two chunks, a head stays what it is.
 */
export function tolerateContinue(socket: Socket): { readonly renew: () => void } {
  let isBeforeResponse = true;
  const read = socket.read.bind(socket);
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size);
    if (isBeforeResponse && Buffer.isBuffer(chunk)) isBeforeResponse = hasOnlyInterim(chunk);
    return chunk;
  };
  return {
    renew: () => {
      isBeforeResponse = true;
    },
  };
}

const INTERIM = /^HTTP\/1\.1 1\d\d$/;
const STATUS_LENGTH = 'HTTP/1.1 100'.length;
const HEAD_END = '\r\n\r\n';

/** Whether the response is still to come; each 100 before it becomes a 102. */
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
