/**
 * `security-event-delivery/capture`: who is calling. What host adapters are made of, and what reads,
 * explains and enriches a client's address. Everything public of this entry, name by name.
 */
export type { CaptureOptions } from './capture-options.ts';
export type { ClientAddressOptions, Hop, Verdict } from './client-address.ts';
export { type ActorIp, type DescribeAddressOptions, describeAddress } from './describe-address.ts';
export {
  createEnrichment,
  type Enricher,
  type EnricherFailure,
  type EnricherFault,
  type Enrichment,
  type EnrichmentOptions,
} from './enrichers.ts';
export type { AddressEnrichment, Geo } from './enrichment.ts';
export { type ClientAddressExplanation, explainClientAddress } from './explain-client-address.ts';
export { type FetchDetails, type FetchRequest, fetchRequest } from './fetch-request.ts';
export type { HttpRequest } from './http-request.ts';
export { type MaxmindOptions, maxmindEnricher } from './maxmind-enricher.ts';
export { type NetworkListOptions, networkListEnricher } from './network-list-enricher.ts';
export type { ParameterOptions } from './plain-parameters.ts';
export { REDACTED, type RedactionOptions } from './redaction.ts';
export { blockRequest, RequestBlockedError } from './request-blocked-error.ts';
export { createRequestCapture, type RequestCapture } from './request-capture.ts';
export type { HeadersLike, RequestLike, SocketLike } from './request-like.ts';
export { currentContext, identify, type RequestContext } from './request-scope.ts';
export type { Identifiers } from './request-story.ts';
export { SENSITIVE_KEYS } from './sensitive-keys.ts';
export type { TrustedProxies } from './trusted-proxies.ts';
