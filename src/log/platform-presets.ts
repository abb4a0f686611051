/** Attributes of log platforms, from the record's context and the active span. */
import type { JsonObject } from '../contract/index.ts';
import { ownProperties } from '../own-properties.ts';
import { type ActiveSpan, activeSpan, hasDatadogTracer, type SpanReader } from './active-span.ts';
import { NO_ATTRIBUTES, type ReadAttributes } from './platform.ts';

/** The platforms whose attributes the writer knows; `auto` follows the active tracer. */
export const PLATFORMS = ['otel', 'datadog', 'ecs', 'auto'] as const;
export type PlatformName = (typeof PLATFORMS)[number];

type Fields = Readonly<Record<string, unknown>>;

/** Returns the parts of a record that attributes come from. If the record lacks an object, its fields are empty. */
function partsOf(record: JsonObject) {
  const { actor, http, service } = fieldsOf(fieldsOf(record)['context']);
  const { identifiers, ip } = fieldsOf(actor);
  const { request, response } = fieldsOf(http);
  return {
    service: fieldsOf(service),
    address: fieldsOf(ip)['address'],
    userId: userId(fieldsOf(identifiers)),
    request: fieldsOf(request),
    status: fieldsOf(response)['status'],
  };
}

const fieldsOf = (value: unknown): Fields => ownProperties(value as Fields);

/** Names of a user's identifier, best first: the contract leaves them to the host. */
const USER_KEYS = ['id', 'user_id', 'uid', 'uuid', 'identifier', 'username', 'email'] as const;

const userId = (identifiers: Fields): string | number | undefined =>
  USER_KEYS.map((key) => identifiers[key]).find(
    (value) => typeof value === 'string' || typeof value === 'number',
  );

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Returns the `Host` header without its port; an IPv6 address without its brackets. */
function domainOf({ host }: Fields): string | undefined {
  const [, bracketed, name] = HOST.exec(textOf(host)) ?? [];
  return bracketed ?? name;
}
const HOST = /^(?:\[([^\]]*)\]|([^:]+))(?::\d*)?$/;

/** A request without a Host header has no URL. */
const urlOf = ({ scheme, host, path }: Fields): string | undefined =>
  host ? `${textOf(scheme)}://${textOf(host)}${textOf(path)}` : undefined;

type Preset = (record: () => JsonObject, span: ActiveSpan | undefined) => Fields;

/** A value may be undefined: then the attribute is absent. */
const PRESETS: Readonly<Record<Exclude<PlatformName, 'auto'>, Preset>> = {
  otel: (_record, span) =>
    span === undefined
      ? NO_ATTRIBUTES
      : {
          trace_id: span.traceId,
          span_id: span.spanId,
          trace_flags: span.traceFlags?.toString(16).padStart(2, '0'),
        },
  datadog: (record, span) => {
    const { service, address, userId: user, request, status } = partsOf(record());
    return {
      dd: span?.dd,
      service: service['name'],
      env: service['env'],
      'network.client.ip': address,
      'http.method': request['verb'],
      'http.url': urlOf(request),
      'http.status_code': status,
      'http.useragent': request['user_agent'],
      'usr.id': user,
    };
  },
  ecs: (record, span) => {
    const { service, address, userId: user, request, status } = partsOf(record());
    return {
      'trace.id': span?.traceId,
      'span.id': span?.spanId,
      'service.name': service['name'],
      'service.environment': service['env'],
      'client.ip': address,
      'user.id': user?.toString(),
      'http.request.method': request['verb'],
      'http.response.status_code': status,
      'url.scheme': request['scheme'],
      'url.domain': domainOf(request),
      'url.port': request['port'],
      'url.path': request['path'],
      'user_agent.original': request['user_agent'],
    };
  },
};

/**
 * Creates a reader of a named platform's attributes. `auto` chooses OpenTelemetry if the active span comes
 * from its globals, or if dd-trace does not run; otherwise Datadog. OpenTelemetry needs an active span.
 */
export function platformPreset(name: PlatformName, read?: SpanReader): ReadAttributes {
  return (record) => {
    const span = activeSpan(read);
    const preset = name === 'auto' ? automaticPreset(span) : PRESETS[name];
    return { attributes: preset(record, span) as JsonObject };
  };
}

const automaticPreset = (span: ActiveSpan | undefined): Preset =>
  span?.tracer !== 'otel' && hasDatadogTracer() ? PRESETS.datadog : PRESETS.otel;
