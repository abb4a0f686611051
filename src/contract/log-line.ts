/** A log line: the record plus the attributes of the log platform. */
import * as z from 'zod';
import type { Dialect, Mode, Reading } from './dialect.ts';
import { expecting } from './error-messages.ts';
import { logRecord } from './log-record.ts';
import { textLike } from './primitives.ts';

const hex = (digits: number): z.ZodOptional<z.ZodString> =>
  textLike(new RegExp(`^[0-9a-f]{${digits}}$`), `${digits} lowercase hex digits`).optional();
const optionalText = (): z.ZodOptional<z.ZodString> => z.string().optional();
const optionalInteger = (): z.ZodOptional<z.ZodInt> => z.int().optional();

const platformAttributes = () => ({
  // OpenTelemetry
  trace_id: hex(32),
  span_id: hex(16),
  trace_flags: hex(2),
  // Datadog
  dd: z
    .looseObject({
      trace_id: optionalText(),
      span_id: optionalText(),
      service: optionalText(),
      env: optionalText(),
      version: optionalText(),
    })
    .optional(),
  service: optionalText(),
  env: optionalText(),
  'network.client.ip': optionalText(),
  'http.method': optionalText(),
  'http.url': optionalText(),
  'http.status_code': optionalInteger(),
  'http.useragent': optionalText(),
  'usr.id': z
    .union([z.string(), z.number()], { error: expecting('a string or a number') })
    .optional(),
  // ECS
  'trace.id': optionalText(),
  'span.id': optionalText(),
  'transaction.id': optionalText(),
  'service.name': optionalText(),
  'service.environment': optionalText(),
  'client.ip': optionalText(),
  'user.id': optionalText(),
  'http.request.method': optionalText(),
  'http.response.status_code': optionalInteger(),
  'url.scheme': optionalText(),
  'url.domain': optionalText(),
  'url.port': optionalInteger(),
  'url.path': optionalText(),
  'user_agent.original': optionalText(),
});

/** Accepts any type. The names are listed so that the output has the same order in both readings. */
const anyPlatformAttributes = (): Record<string, z.ZodType> =>
  Object.fromEntries(
    Object.keys(platformAttributes()).map((name) => [name, z.unknown().optional()]),
  );

type PlatformAttributes<R extends Reading> = R extends 'emitted'
  ? ReturnType<typeof platformAttributes>
  : Record<never, never>;

/**
 * The record with the trace ids and other attributes of a log platform (D18). The received reading allows all
 * unknown keys, so a host's own `service` or `env` of another type is valid.
 */
export const logLine = <D extends Dialect, R extends Reading>(mode: Mode<D, R>) => {
  const attributes = (
    mode.reading === 'emitted' ? platformAttributes() : anyPlatformAttributes()
  ) as PlatformAttributes<R>;
  return logRecord(mode, attributes);
};

export type LogLineSchema<D extends Dialect, R extends Reading> = ReturnType<typeof logLine<D, R>>;
