/** Accepts the connections of a receiver: counts them, adds TLS, and parses HTTP. */
import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { systemClock } from '../runtime/clock.ts';
import type { ReceiverTls } from './certificate.ts';
import type { ConnectionFault } from './step.ts';

export interface Connection {
  /** From 1. */
  readonly id: number;
  /** Ends it with RST. */
  readonly reset: () => void;
  /** Waits, and resolves to whether it is still open. */
  readonly wait: (ms: number) => Promise<boolean>;
}

/** A request whose headers were read, on its connection. */
export interface Arrival {
  readonly connection: Connection;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
}

interface ConnectionsOptions {
  readonly tls: ReceiverTls | undefined;
  readonly nextFault: () => ConnectionFault | undefined;
  readonly onRequest: (arrival: Arrival) => void;
}

export class Connections {
  count = 0;
  readonly #options: ConnectionsOptions;
  readonly #addTls: ((raw: Socket) => Socket) | undefined;
  readonly #open = new Set<Socket>();
  readonly #byHttpSocket = new WeakMap<Socket, Connection>();
  readonly #server: Server = createServer((raw) => void this.#accept(raw));
  /** Does not listen: connections are passed to it. Has no timeouts, so it never closes a connection. */
  readonly #http: HttpServer = createHttpServer({
    keepAliveTimeout: 0,
    requestTimeout: 0,
    headersTimeout: 0,
  });

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#addTls = options.tls && tlsWrapper(options.tls);
    this.#http.on('request', (incoming, response) => {
      const connection = this.#byHttpSocket.get(incoming.socket) as Connection;
      options.onRequest({ connection, incoming, response });
    });
  }

  get openCount(): number {
    return this.#open.size;
  }

  /** Resolves to the port. */
  async listen(): Promise<number> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const raw of this.#open) raw.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #accept(raw: Socket): Promise<void> {
    const ended = new AbortController();
    this.count += 1;
    const connection: Connection = {
      id: this.count,
      reset: () => void raw.resetAndDestroy(),
      wait: async (ms) => {
        await systemClock.sleep(ms, ended.signal);
        return !ended.signal.aborted;
      },
    };
    this.#open.add(raw);
    // Resets by the sender are expected.
    raw.on('error', () => {});
    raw.once('close', () => {
      this.#open.delete(raw);
      ended.abort();
    });
    const fault = this.#options.nextFault();
    if (fault?.fault === 'reset-on-connect') {
      connection.reset();
      return;
    }
    if (fault !== undefined && !(await connection.wait(fault.delayMs))) return;
    const socket = this.#addTls?.(raw) ?? raw;
    this.#byHttpSocket.set(socket, connection);
    this.#http.emit('connection', socket);
  }
}

/** Returns a function that wraps sockets with TLS. */
function tlsWrapper(options: ReceiverTls): (raw: Socket) => Socket {
  const secureContext = createSecureContext(options);
  return (raw) => {
    const secured = new TLSSocket(raw, { ...options, isServer: true, secureContext });
    // A client that refuses the certificate reports the error itself.
    secured.on('error', () => raw.destroy());
    return secured;
  };
}
