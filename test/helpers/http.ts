/** Plain HTTP: single POSTs, and free ports. */
import type { ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { sign } from '../../src/webhook/signature.ts';

export interface Posted {
  readonly status: number | undefined;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export interface Posting {
  readonly method?: string;
  readonly headers?: http.OutgoingHttpHeaders;
}

export function post(
  url: string,
  body: string | Buffer,
  { method = 'POST', headers = {} }: Posting = {},
): Promise<Posted> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, agent: false });
    request.on('error', reject);
    request.on('response', (response) => {
      const { statusCode: status, headers: received } = response;
      text(response).then((read) => resolve({ status, headers: received, text: read }), reject);
    });
    request.end(body);
  });
}

/** Posts with the signature and content type of a sender. */
export const postSigned = (
  url: string,
  body: string | Buffer,
  secret: string,
  headers: http.OutgoingHttpHeaders = {},
): Promise<Posted> =>
  post(url, body, {
    headers: {
      'content-type': 'application/json',
      'x-svc-integrity': sign(body, secret),
      ...headers,
    },
  });

/** Resolves when undici has read the headers of the next `count` responses. */
export function responseHeaders(count: number): Promise<void> {
  return new Promise((resolve) => {
    let left = count;
    const listener = (): void => {
      left -= 1;
      if (left > 0) return;
      unsubscribe('undici:request:headers', listener);
      resolve();
    };
    subscribe('undici:request:headers', listener);
  });
}

// Ports for programs that need a fixed port number and cannot listen on port 0.

/** Returns whether a server listens on the port of 127.0.0.1. */
export async function isListening(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Resolves when a program listens on the port. Rejects with the program's output if it ends before. */
export async function untilListening(
  port: number,
  program: ChildProcess,
  output: () => string,
): Promise<void> {
  while (!(await isListening(port))) {
    if (program.exitCode !== null) throw new Error(`The program ended: ${output()}`);
    await wait(20);
  }
}

/** Below the ephemeral ports of operating systems. */
const PORTS = { first: 12_000, end: 30_000 };

/** Returns a port without a listener. Tries random ports, so that parallel runs on one machine rarely collide. */
export async function freePort(taken: readonly number[] = []): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = randomInt(PORTS.first, PORTS.end);
    if (!taken.includes(port) && !(await isListening(port))) return port;
  }
  throw new Error('no port is free');
}
