/** How the examples serve HTTP on this machine, and visit what they serve. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { say } from './story.ts';

export interface LocalServer {
  /** Without a path. */
  readonly url: string;
  readonly close: () => void;
}

/** Starts a server on a free port. */
export const serve = (listener: RequestListener): Promise<LocalServer> =>
  listening(createServer(listener).listen(0, '127.0.0.1'));

/** Waits until a server listens. */
export async function listening(server: Server): Promise<LocalServer> {
  if (!server.listening) await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Requests a URL as a client behind a proxy on this machine: GET, or POST if there is JSON. */
export async function visit(from: string, url: string, json?: object): Promise<void> {
  const init = json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) };
  const headers = { 'x-forwarded-for': from, 'content-type': 'application/json' };
  const { status } = await fetch(url, { ...init, headers });
  const { pathname, search } = new URL(url);
  const body = json === undefined ? '' : ` ${JSON.stringify(json)}`;
  say(from, `${status} for ${pathname}${decodeURIComponent(search)}${body}`);
}
