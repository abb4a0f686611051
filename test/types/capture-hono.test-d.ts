/** Types of the Hono and Fetch adapters. */
import type { IncomingMessage } from 'node:http';
import { getConnInfo } from '@hono/node-server/conninfo';
import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { captureRequests } from '../../src/capture/adapters/hono.ts';
import { fetchRequest, type HttpRequest } from '../../src/capture/index.ts';

export const withoutOptions = (app: Hono): unknown => app.use(captureRequests());

export const withOptions = (app: Hono): unknown =>
  app.use('/api/*', captureRequests({ trustedProxies: 'loopback', maxBodyBytes: 4096 }));

interface Environment {
  Bindings: { incoming: IncomingMessage };
  Variables: { user: string };
}
export const withTypes = (): unknown => new Hono<Environment>().use(captureRequests());

export const withPeer: MiddlewareHandler<Environment> = captureRequests({
  connection: ({ env }) => env.incoming.socket,
});

export const withHelper: MiddlewareHandler = captureRequests({
  connection: (c: Context) => {
    const { address, port } = getConnInfo(c).remote;
    return { remoteAddress: address, remotePort: port };
  },
});

// @ts-expect-error an option that does not exist
export const withWhatIsNoOption = captureRequests({ trustProxy: true });

// @ts-expect-error not an address
export const withWhatIsNoPeer = captureRequests({ connection: () => ({ remoteAddress: 7 }) });

export const ofFetch: HttpRequest = fetchRequest(new Request('http://shop.example/'), {
  remoteAddress: '203.0.113.9',
});
