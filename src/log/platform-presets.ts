/** Attributes of log platforms, from the record's context and the active span. */
import { type ActiveSpan, activeSpan, hasDatadogTracer, type SpanReader } from './active-span.ts';

/** The platforms whose attributes the writer knows; `auto` follows the active tracer. */
export const PLATFORMS = ['otel', 'datadog', 'ecs', 'auto'] as const;
export type PlatformName = (typeof PLATFORMS)[number];

type Attributes = Readonly<Record<string, unknown>>;
type Context = Readonly<Record<string, unknown>>;
type Read<T = string | number> = (context: Context) => T | undefined;

const at = (context: Context, path: readonly string[]): unknown =>
  path.reduce<unknown>(child, context);

function child(value: unknown, key: string): unknown {
  const isObject = typeof value === 'object' && value !== null;
  return isObject && Object.hasOwn(value, key) ? Reflect.get(value, key) : undefined;
}

/** A record that is not validated may have another type there. */
const textAt =
  (...path: readonly string[]): Read<string> =>
  (context) => {
    const value = at(context, path);
    return typeof value === 'string' ? value : undefined;
  };

const numberAt =
  (...path: readonly string[]): Read<number> =>
  (context) => {
    const value = at(context, path);
    return typeof value === 'number' ? value : undefined;
  };

const REQUEST = ['http', 'request'] as const;
const scheme = textAt(...REQUEST, 'scheme');
const host = textAt(...REQUEST, 'host');
const path = textAt(...REQUEST, 'path');
const userAgent = textAt(...REQUEST, 'user_agent');
const verb = textAt(...REQUEST, 'verb');
const status = numberAt('http', 'response', 'status');
const clientIp = textAt('actor', 'ip', 'address');
const serviceName = textAt('service', 'name');
const environment = textAt('service', 'env');

/** Names of a user's identifier, best first: the contract leaves them to the host. */
const USER_KEYS = ['id', 'user_id', 'uid', 'uuid', 'identifier', 'username', 'email'] as const;

const userId: Read = (context) =>
  USER_KEYS.map((key) => at(context, ['actor', 'identifiers', key])).find(
    (value) => typeof value === 'string' || typeof value === 'number',
  );

/** The `Host` header without its port; an IPv6 address without its brackets. */
const domain: Read = (context) => {
  const [, bracketed, name] = HOST.exec(host(context) ?? '') ?? [];
  return bracketed ?? name;
};
const HOST = /^(?:\[([^\]]*)\]|([^:]+))(?::\d*)?$/;

/** A request without a Host header has no URL. */
const url: Read = (context) => {
  const [protocol, authority] = [scheme(context), host(context)];
  if (protocol === undefined || !authority) return undefined;
  return `${protocol}://${authority}${path(context) ?? ''}`;
};

const DATADOG: Readonly<Record<string, Read>> = {
  service: serviceName,
  env: environment,
  'network.client.ip': clientIp,
  'http.method': verb,
  'http.url': url,
  'http.status_code': status,
  'http.useragent': userAgent,
  'usr.id': userId,
};

const ECS: Readonly<Record<string, Read>> = {
  'service.name': serviceName,
  'service.environment': environment,
  'client.ip': clientIp,
  'user.id': (context) => userId(context)?.toString(),
  'http.request.method': verb,
  'http.response.status_code': status,
  'url.scheme': scheme,
  'url.domain': domain,
  'url.port': numberAt(...REQUEST, 'port'),
  'url.path': path,
  'user_agent.original': userAgent,
};

type Preset = (context: Context, span: ActiveSpan | undefined) => Attributes;

const PRESETS: Readonly<Record<Exclude<PlatformName, 'auto'>, Preset>> = {
  otel: (_context, span) =>
    span === undefined
      ? {}
      : {
          trace_id: span.traceId,
          span_id: span.spanId,
          trace_flags: span.traceFlags?.toString(16).padStart(2, '0'),
        },
  datadog: (context, span) => ({
    ...(span === undefined ? {} : { dd: span.dd }),
    ...readAll(DATADOG, context),
  }),
  ecs: (context, span) => ({
    ...(span === undefined ? {} : { 'trace.id': span.traceId, 'span.id': span.spanId }),
    ...readAll(ECS, context),
  }),
};

/** Attributes may be undefined. */
function readAll(table: Readonly<Record<string, Read>>, context: Context): Attributes {
  return Object.fromEntries(Object.entries(table).map(([key, read]) => [key, read(context)]));
}

/** Compared by identity, so that the writer serialises nothing. */
export const NO_ATTRIBUTES: Attributes = Object.freeze({});

/**
 * Returns a platform function. `auto` chooses OpenTelemetry if its span is active, else Datadog if
 * dd-trace runs, else OpenTelemetry if `read` returns a span, else no attributes.
 */
export function platformPreset(name: PlatformName, read?: SpanReader) {
  return (record: object): Attributes => {
    const span = activeSpan(read);
    const preset = name === 'auto' ? presetOf(span) : PRESETS[name];
    const context = child(record, 'context');
    return preset?.(context as Context, span) ?? {};
  };
}

/**
 * Returns a function that returns the same attributes without a record, or `undefined` if they also
 * depend on the record.
 */
export function spanAttributes(
  name: PlatformName,
  read?: SpanReader,
): () => Attributes | undefined {
  if (name !== 'otel' && name !== 'auto') return () => undefined;
  return () => {
    if (name === 'auto' && hasDatadogTracer()) return undefined;
    const span = activeSpan(read);
    return span === undefined ? NO_ATTRIBUTES : PRESETS.otel({}, span);
  };
}

function presetOf(span: ActiveSpan | undefined): Preset | undefined {
  if (span?.tracer === 'otel') return PRESETS.otel;
  if (hasDatadogTracer()) return PRESETS.datadog;
  return span && PRESETS.otel;
}
