/** Answers a request as its step says, and limits how much of it is read. */
import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { nextTurn } from '../runtime/yield-to-event-loop.ts';
import type { Arrival } from './connections.ts';
import type { ReceivedBody } from './received-request.ts';
import { type Fault, headersOf, OK, type Reply, type Step } from './step.ts';

/** A request that was read and is not answered yet. */
export interface Exchange extends Arrival, ReceivedBody {
  /** The receiver's URL. */
  readonly url: string;
  /** Called when a final status is sent. */
  readonly onStatus: (status: number) => void;
}

type Action<S> = (step: S, exchange: Exchange) => unknown;

const MIB = 1024 * 1024;
const DEFAULT_INFLATED_BYTES = 1024 * MIB;
const DEFAULT_DRIP_MS = 100;
const DEFAULT_INTERIM_MS = 10;
const RESET_AFTER_MS = 20;
/** Headers of responses that never end. */
const ANNOUNCED = { 'content-length': '100000' };
const INTERIM = 'HTTP/1.1 103 Early Hints\r\nlink: </hook.css>; rel=preload\r\n\r\n';
const CHUNK = Buffer.alloc(16 * 1024, 'x');
const HEADER_LINE = Buffer.from(`x-endless: ${'x'.repeat(1000)}\r\n`);

const ACTIONS: { readonly [F in Fault['fault']]: Action<Extract<Fault, { readonly fault: F }>> } = {
  // A request on an open connection cannot have a connection fault: it is reset, or gets 200.
  'reset-on-connect': (_, { connection }) => connection.reset(),
  'slow-tls': (_, exchange) => reply(OK, exchange),
  'reset-during-body': (_, { connection }) => connection.reset(),
  'body-limit': ({ maxBytes, status = 413 }, exchange) => {
    if (exchange.isWhole && exchange.body.length <= maxBytes) reply(OK, exchange);
    else refuseBody(status, exchange);
  },
  hang: () => {},
  'hang-after-headers': ({ status = 200 }, exchange) => begin(status, ANNOUNCED, exchange),
  'reset-before-response': (_, { connection }) => connection.reset(),
  'reset-after-headers': async ({ status = 200 }, exchange) => {
    begin(status, ANNOUNCED, exchange);
    exchange.response.write('x');
    // A sender that gets data and reset together may see a regular end, so it must read the data first. The extra turn
    // lets a sender in this process read, even if the process was paused until the wait was over.
    const isOpen = await exchange.connection.wait(RESET_AFTER_MS);
    await nextTurn();
    if (isOpen) exchange.connection.reset();
  },
  drip: async ({ everyMs = DEFAULT_DRIP_MS, status = 200 }, exchange) => {
    begin(status, ANNOUNCED, exchange);
    while (await exchange.connection.wait(everyMs)) exchange.response.write('x');
  },
  'endless-body': ({ status = 200 }, exchange) => {
    begin(status, {}, exchange);
    pour(exchange.response, CHUNK);
  },
  'endless-headers': ({ status = 200 }, { incoming: { socket }, onStatus }) => {
    onStatus(status);
    socket.write(`HTTP/1.1 ${status} Endless\r\n`);
    pour(socket, HEADER_LINE);
  },
  'interim-flood': async (
    { everyMs = DEFAULT_INTERIM_MS },
    { incoming: { socket }, connection },
  ) => {
    do {
      if (!socket.writableNeedDrain) socket.write(INTERIM);
    } while (await connection.wait(everyMs));
  },
  'gzip-bomb': ({ inflatedBytes = DEFAULT_INFLATED_BYTES, status = 200 }, exchange) => {
    const body = gzipBomb(inflatedBytes);
    reply({ status, headers: { 'content-encoding': 'gzip' }, body }, exchange);
  },
  'redirect-loop': ({ status = 307 }, exchange) =>
    reply({ status, headers: { location: exchange.url } }, exchange),
  'not-http': (_, { incoming: { socket } }) => void socket.end('SSH-2.0-OpenSSH_9.9\r\n'),
  'close-idle': ({ afterMs = 0 }, exchange) => {
    exchange.response.once('finish', () => void closeLater(afterMs, exchange));
    reply(OK, exchange);
  },
};

/** The names of all faults, for tests that try each of them. */
export const FAULTS = Object.keys(ACTIONS) as readonly Fault['fault'][];

/** Returns the number of body bytes to read. A negative number means that nothing is read. */
export function maxBodyBytes(step: Step | undefined, incoming: IncomingMessage): number {
  if (step === undefined || !('fault' in step)) return Number.POSITIVE_INFINITY;
  if (step.fault === 'reset-during-body') return (step.afterBytes ?? 1) - 1;
  if (step.fault !== 'body-limit') return Number.POSITIVE_INFINITY;
  const announced = Number(incoming.headers['content-length'] ?? 0);
  return announced > step.maxBytes ? -1 : step.maxBytes;
}

/** Resolves when the step is done. */
export async function answer(step: Step, exchange: Exchange): Promise<void> {
  if ('fault' in step) {
    await (ACTIONS[step.fault] as Action<Step>)(step, exchange);
    return;
  }
  if (step.delayMs !== undefined && !(await exchange.connection.wait(step.delayMs))) return;
  reply(step, exchange);
}

function reply(step: Reply, { response, onStatus }: Exchange): void {
  onStatus(step.status);
  // Not `writeHead`: after it Node does not compute the length, and the response would be chunked.
  response.statusCode = step.status;
  for (const [name, value] of Object.entries(headersOf(step))) response.setHeader(name, value);
  response.end(step.body);
}

function begin(
  status: number,
  headers: Readonly<Record<string, string>>,
  { response, onStatus }: Exchange,
): void {
  onStatus(status);
  response.writeHead(status, headers).flushHeaders();
}

/**
 * Answers, and discards the rest of the body: closing a socket with unread bytes sends a reset, which could overtake
 * the response.
 */
function refuseBody(status: number, exchange: Exchange): void {
  const { incoming, response } = exchange;
  begin(status, { 'content-length': '0', connection: 'close' }, exchange);
  if (incoming.readableEnded) {
    response.end();
    return;
  }
  incoming.once('end', () => response.end());
  incoming.resume();
}

async function closeLater(ms: number, { incoming, connection }: Exchange): Promise<void> {
  if (ms === 0 || (await connection.wait(ms))) incoming.socket.end();
}

/** Writes the same chunk repeatedly, as fast as it is read. */
function pour(stream: Writable, chunk: Buffer): void {
  const write = (): void => {
    while (!stream.destroyed && stream.write(chunk));
  };
  stream.on('drain', write);
  write();
}

/** Repeats one gzip member of 1 MiB (RFC 1952 section 2.2), so that a large bomb is created quickly. */
function gzipBomb(inflatedBytes: number): Buffer {
  const member = gzipSync(Buffer.alloc(MIB));
  return Buffer.concat(Array.from({ length: Math.ceil(inflatedBytes / MIB) }, () => member));
}
