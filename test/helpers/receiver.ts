/**
 * A real receiver on node:net or node:tls that handles each request as its script says and records the
 * exact bytes it receives. It parses HTTP itself: an HTTP server would hide the raw bytes and could not
 * misbehave.
 */
import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';

export interface ReceivedRequest {
  readonly method: string;
  /** The request target, as sent: path and query. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** In the order and spelling in which they were sent. */
  readonly rawHeaders: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Head and body as received. */
  readonly bytes: Buffer;
  /** The number of the connection, from 1. */
  readonly connection: number;
}

export interface Exchange {
  readonly request: ReceivedRequest;
  readonly socket: net.Socket;
  /** Writes to the socket while it is open. */
  readonly write: (data: string | Buffer) => void;
  /** Calls `act` periodically until the connection ends. */
  readonly every: (ms: number, act: () => void) => void;
  readonly after: (ms: number, act: () => void) => void;
}

/** Handles one request. */
export type Step = (exchange: Exchange) => void;

export interface ReceiverOptions {
  /** One step per request, in order; the last one repeats. Default: `respond()` for all. */
  readonly script?: readonly Step[];
  /** Makes it an https receiver. */
  readonly tls?: tls.TlsOptions;
  /** Called for each new connection before anything is read. */
  readonly onConnection?: (socket: net.Socket) => void;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** The host in `url`. Default: `host`. */
  readonly urlHost?: string;
}

export interface Receiver extends AsyncDisposable {
  /** With the path `/hook`. */
  readonly url: string;
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** Number of connections so far (with TLS: before the handshake). */
  readonly connectionCount: number;
  readonly openConnectionCount: number;
  /** Resolves when `count` requests were received. */
  received(count: number): Promise<readonly ReceivedRequest[]>;
  /** Resolves when no connection is open. */
  idle(): Promise<void>;
  /** Resolves when `count` connections were accepted. */
  connected(count: number): Promise<void>;
  /** Closes all connections from the receiver's side. */
  closeConnections(): void;
  close(): Promise<void>;
}

export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const script = options.script ?? [respond()];
  const host = options.host ?? '127.0.0.1';
  const requests: ReceivedRequest[] = [];
  const sockets = new Set<net.Socket>();
  const changes = new EventEmitter();
  let connectionCount = 0;

  const server = net.createServer((socket) => {
    connectionCount += 1;
    const connection = connectionCount;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      changes.emit('change');
    });
    changes.emit('change');
    options.onConnection?.(socket);
    const serve = (plain: net.Socket): void =>
      readRequests(plain, connection, (request) => {
        requests.push(request);
        const step = script[Math.min(requests.length, script.length) - 1] ?? respond();
        step(exchangeOver(plain, request));
        changes.emit('change');
      });
    if (options.tls === undefined) {
      serve(socket);
      return;
    }
    const secured = new tls.TLSSocket(socket, {
      ...options.tls,
      isServer: true,
      secureContext: tls.createSecureContext(options.tls),
    });
    secured.on('error', () => socket.destroy());
    serve(secured);
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;

  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await once(changes, 'change');
  };
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (!server.listening) return;
    server.close();
    await once(server, 'close');
  };

  return {
    url: `${options.tls === undefined ? 'http' : 'https'}://${options.urlHost ?? host}:${port}/hook`,
    port,
    requests,
    get connectionCount() {
      return connectionCount;
    },
    get openConnectionCount() {
      return sockets.size;
    },
    received: async (count) => {
      await until(() => requests.length >= count);
      return requests;
    },
    idle: () => until(() => sockets.size === 0),
    connected: (count) => until(() => connectionCount >= count),
    closeConnections: () => {
      for (const socket of sockets) socket.destroy();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly delayMs?: number;
}

/** Sends an ordinary response. Adds `Content-Length`, except for 204 and 304. */
export function respond(reply: Reply = {}): Step {
  const { status = 200, headers = {}, body = '', delayMs = 0 } = reply;
  const bytes = Buffer.from(body);
  const length = status === 204 || status === 304 ? {} : { 'content-length': `${bytes.length}` };
  return ({ write, after }) => {
    const answer = (): void =>
      write(Buffer.concat([head(status, { ...length, ...headers }), bytes]));
    if (delayMs === 0) answer();
    else after(delayMs, answer);
  };
}

export function redirect(status: 301 | 302 | 303 | 307 | 308, location: string): Step {
  return respond({ status, headers: { location } });
}

/** Never responds. */
export function hang(): Step {
  return () => {};
}

/** Writes the given bytes, then resets the connection (RST). */
export function reset(before: string | Buffer = ''): Step {
  return ({ socket }) => {
    if (before.length === 0) {
      socket.resetAndDestroy();
      return;
    }
    socket.write(before, () => setImmediate(() => socket.resetAndDestroy()));
  };
}

/** Writes the given bytes, then ends the connection (FIN). */
export function end(before: string | Buffer = ''): Step {
  return ({ socket }) => void socket.end(before);
}

/** Writes the given bytes and leaves the connection open. */
export function raw(bytes: string | Buffer): Step {
  return ({ write }) => write(bytes);
}

/** Sends response headers, then an endless body as fast as it is read. */
export function endlessBody(status = 200): Step {
  const chunk = Buffer.from(`4000\r\n${'x'.repeat(0x4000)}\r\n`);
  return ({ socket, write }) => {
    const pour = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    write(head(status, { 'transfer-encoding': 'chunked' }));
    socket.on('drain', pour);
    pour();
  };
}

/** Sends response headers at once, then the body byte by byte. */
export function dripBody(everyMs: number, status = 200): Step {
  return ({ every, write }) => {
    write(head(status, { 'content-length': '100000' }));
    every(everyMs, () => write('x'));
  };
}

/** Sends an informational response every `everyMs`, and never a final one. */
export function interimFlood(everyMs: number, status = 103): Step {
  return ({ every, write }) => every(everyMs, () => write(head(status, {})));
}

function head(status: number, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/1.1 ${status} Scripted\r\n${lines.join('')}\r\n`, 'latin1');
}

function exchangeOver(socket: net.Socket, request: ReceivedRequest): Exchange {
  return {
    request,
    socket,
    write: (data) => {
      if (!socket.destroyed && !socket.writableEnded) socket.write(data);
    },
    every: (ms, act) => {
      const timer = setInterval(act, ms);
      socket.once('close', () => clearInterval(timer));
    },
    after: (ms, act) => {
      const timer = setTimeout(act, ms);
      socket.once('close', () => clearTimeout(timer));
    },
  };
}

/** Reads requests with a Content-Length, as this library sends them. Destroys the connection on others. */
function readRequests(
  socket: net.Socket,
  connection: number,
  take: (request: ReceivedRequest) => void,
): void {
  let pending = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      const headEnd = pending.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const parsed = parseHead(pending.subarray(0, headEnd).toString('latin1'));
      const length = Number(parsed.headers['content-length'] ?? Number.NaN);
      if (!Number.isInteger(length)) {
        socket.destroy();
        return;
      }
      const requestEnd = headEnd + 4 + length;
      if (pending.length < requestEnd) return;
      const bytes = Buffer.from(pending.subarray(0, requestEnd));
      pending = Buffer.from(pending.subarray(requestEnd));
      take({ ...parsed, connection, bytes, body: bytes.subarray(headEnd + 4) });
    }
  });
}

function parseHead(text: string) {
  const [requestLine = '', ...lines] = text.split('\r\n');
  const [method = '', target = ''] = requestLine.split(' ');
  const rawHeaders = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  const headers: Record<string, string> = Object.fromEntries(
    rawHeaders.map(([name, value]) => [name.toLowerCase(), value]),
  );
  return { method, target, rawHeaders, headers };
}
