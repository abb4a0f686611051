/**
 * `security-event-delivery/capture`: finds the client of a request, explains and enriches its address,
 * and exports what a host needs for its own adapter.
 */

export { type FetchDetails, type FetchRequest, fetchRequest } from './adapters/fetch-request.ts';
export type { ClientAddressOptions, Hop, Verdict } from './client-address/client-address.ts';
export {
  type ClientAddressExplanation,
  explainClientAddress,
} from './client-address/explain-client-address.ts';
export type { TrustedProxies } from './client-address/trusted-proxies.ts';
export {
  type ActorIp,
  type DescribeAddressOptions,
  describeAddress,
} from './enrichment/describe-address.ts';
export type { Enricher, EnricherFailure, EnricherFault } from './enrichment/enricher-source.ts';
export {
  createEnrichment,
  type Enrichment,
  type EnrichmentOptions,
} from './enrichment/enrichers.ts';
export type { AddressEnrichment, Geo } from './enrichment/enrichment.ts';
export { type MaxmindOptions, maxmindEnricher } from './enrichment/maxmind-enricher.ts';
export {
  type NetworkListOptions,
  networkListEnricher,
} from './enrichment/network-list-enricher.ts';
export { REDACTED, type RedactionOptions } from './redaction/redactor.ts';
export { SENSITIVE_KEYS } from './redaction/sensitive-names.ts';
export type { CaptureOptions } from './request/capture-options.ts';
export type { HttpRequest } from './request/http-request.ts';
export type { Identifiers } from './request/identifiers.ts';
export type { ParameterOptions } from './request/parameters.ts';
export { blockRequest, RequestBlockedError } from './request/request-blocked-error.ts';
export { createRequestCapture, type RequestCapture } from './request/request-capture.ts';
export type { HeadersLike, RequestLike, SocketLike } from './request/request-like.ts';
export {
  currentContext,
  identify,
  type RequestContext,
} from './request/request-scope.ts';
