/** `security-event-delivery/receiver`: receives webhooks. */

export { verify } from '../webhook/signature.ts';
export type { BodyReading } from './body-budget.ts';
export {
  createMemoryDuplicates,
  type DuplicateStore,
  type MemoryDuplicateStore,
  type MemoryDuplicatesOptions,
} from './duplicates.ts';
export { explainSignature, type SignatureExplanation } from './explain-signature.ts';
export { type ExpressRequestLike, expressHandler } from './express-handler.ts';
export {
  type FastifyLike,
  type FastifyPluginOptions,
  type FastifyReplyLike,
  type FastifyRequestLike,
  fastifyPlugin,
} from './fastify-plugin.ts';
export { type FetchHandlerOptions, fetchHandler } from './fetch-handler.ts';
export { type FreshnessOptions, isFresh } from './is-fresh.ts';
export {
  type BodyStream,
  type NodeRequestLike,
  type NodeResponseLike,
  nodeHandler,
} from './node-handler.ts';
export {
  type KnownV2,
  type ParsedBody,
  parseBody,
  type ReceivedMessage,
  type ReceivedV1,
  type ReceivedV2,
  type RefusedElement,
  type UnknownField,
} from './parse-body.ts';
export type { ReceiverOptions, ReceiverSecret, Refusal } from './receiver-options.ts';
export type { RefusalReason } from './refusals.ts';
export type { SignatureFault } from './signature-faults.ts';
export {
  createWebhookReceiver,
  type WebhookAnswer,
  type WebhookReceiver,
  type WebhookRequest,
} from './webhook-receiver.ts';
