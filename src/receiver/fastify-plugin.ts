import { ownProperties, readProperty } from '../own-properties.ts';
import {
  type BodyStream,
  type NodeRequestLike,
  type NodeResponseLike,
  nodeRequest,
  writeAnswer,
} from './node-request.ts';
import { checkedReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/** What is used of Fastify's request. */
export interface FastifyRequestLike {
  readonly raw: NodeRequestLike;
  readonly body?: unknown;
}

/** What is used of Fastify's reply. */
export interface FastifyReplyLike {
  readonly raw: NodeResponseLike;
  hijack(): unknown;
}

/** A parser of bodies, as Fastify has it. */
export type FastifyParser = (
  request: unknown,
  payload: BodyStream,
  done: (error: Error | null, body?: unknown) => void,
) => void;

/** What is used of a Fastify instance. */
export interface FastifyLike {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(contentType: string, parser: FastifyParser): unknown;
  post(
    path: string,
    handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>,
  ): unknown;
}

export interface FastifyPluginOptions {
  /** Default `/`, below the prefix that it is registered with. */
  readonly path?: string;
}

/**
 * A plugin for Fastify 5: `app.register(fastifyPlugin(receiver), { prefix: '/hooks' })`. It takes raw
 * bodies in a scope of its own: other routes keep their parsers.
 */
export function fastifyPlugin(
  receiver: WebhookReceiver,
): (app: FastifyLike, options?: FastifyPluginOptions) => Promise<void> {
  const checked = checkedReceiver(receiver);
  return async (app, options = {}) => {
    const { path = '/' } = ownProperties(options);
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    app.post(path, async (request, reply) => {
      const { raw } = request;
      // There is none where a request has no body: its own stream is then at its end.
      const stream = (readProperty(request, 'body') ?? raw) as BodyStream;
      const answer = await checked.receive(nodeRequest(raw, stream));
      reply.hijack();
      writeAnswer(reply.raw, answer, raw);
    });
  };
}
