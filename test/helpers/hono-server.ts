/**
 * `@hono/node-server`, whose types need those of browsers, by way of Hono's types for WebSockets;
 * they are not among this project's.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';

type Fetch = (request: Request, bindings: never) => Response | Promise<Response>;

interface NodeServer {
  readonly getRequestListener: (fetch: Fetch) => RequestListener;
}

/** What handlers find in `c.env`. */
export interface NodeBindings {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

const load = createRequire(import.meta.url);

export const { getRequestListener } = load('@hono/node-server') as NodeServer;
