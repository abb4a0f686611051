/** Types of the Fastify adapter. */
import Fastify, { type FastifyInstance } from 'fastify';
import { captureRequests } from '../../src/capture/adapters/fastify.ts';

export const withoutOptions = (app: FastifyInstance): unknown => app.register(captureRequests);

export const withOptions = (app: FastifyInstance): unknown =>
  app.register(captureRequests, { trustedProxies: 'loopback', blockedStatus: 451 });

export const overHttp2 = (): unknown =>
  Fastify({ http2: true }).register(captureRequests, { trustedProxies: 1 });

// Fastify's own type of `register` lets any options through where all of a plugin's may be absent.
export const withWhatIsNoOption = (app: FastifyInstance): unknown =>
  // @ts-expect-error an option that does not exist
  captureRequests(app, { trustProxy: true });

export const withWhatNoOptionTakes = (app: FastifyInstance): unknown =>
  // @ts-expect-error not a status
  captureRequests(app, { blockedStatus: '403' });
