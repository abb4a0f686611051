import { ownProperties, readProperty } from '../own-properties.ts';
import {
  type BodyStream,
  type NodeRequestLike,
  type NodeResponseLike,
  nodeRequest,
  writeAnswer,
} from './node-handler.ts';
import { checkReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/** The used part of Fastify's request. */
export interface FastifyRequestLike {
  readonly raw: NodeRequestLike;
  readonly body?: unknown;
}

/** The used part of Fastify's reply. */
export interface FastifyReplyLike {
  readonly raw: NodeResponseLike;
  hijack(): unknown;
}

/** Fastify's type of body parsers. */
export type FastifyParser = (
  request: unknown,
  payload: BodyStream,
  done: (error: Error | null, body?: unknown) => void,
) => void;

/** The used part of a Fastify instance. */
export interface FastifyLike {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(contentType: string, parser: FastifyParser): unknown;
  post(
    path: string,
    handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>,
  ): unknown;
}

export interface FastifyPluginOptions {
  /** Default `/`, after the prefix of the registration. */
  readonly path?: string | undefined;
}

/**
 * Creates a plugin for Fastify 5: `app.register(fastifyPlugin(receiver), { prefix: '/hooks' })`. It reads
 * raw bodies only in its own scope: other routes keep their parsers.
 */
export function fastifyPlugin(
  receiver: WebhookReceiver,
): (app: FastifyLike, options?: FastifyPluginOptions) => Promise<void> {
  const checked = checkReceiver(receiver);
  return async (app, options = {}) => {
    const { path = '/' } = ownProperties(options);
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    app.post(path, async (request, reply) => {
      const { raw } = request;
      // Fastify sets no `body` for a request without one; then its stream is empty.
      const stream = (readProperty(request, 'body') ?? raw) as BodyStream;
      const answer = await checked.receive(nodeRequest(raw, stream));
      reply.hijack();
      writeAnswer(reply.raw, answer);
    });
  };
}
