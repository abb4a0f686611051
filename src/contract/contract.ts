/** The readings of the contract by name, each built when it is first used (D0). */

import type * as z from 'zod';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import type { Dialect, Mode, Reading } from './dialect.ts';
import { type LogLineSchema, logLine } from './log-line.ts';
import { type LogRecordSchema, logRecord } from './log-record.ts';
import { type MessageV1Schema, webhookMessageV1 } from './webhook-v1.ts';
import { body, type MessageV2Schema, webhookMessageV2 } from './webhook-v2.ts';
import { unlessSuspect, whenUsed } from './when-used.ts';

/** The schemas of one dialect and reading, under the names of the bare exports. */
export interface Contract<D extends Dialect = 'strict', R extends Reading = 'emitted'> {
  readonly LogRecord: z.ZodLazy<LogRecordSchema<D, R>>;
  readonly LogLine: z.ZodLazy<LogLineSchema<D, R>>;
  readonly WebhookMessageV2: z.ZodLazy<MessageV2Schema<D, R>>;
  readonly WebhookBodyV2: z.ZodLazy<z.ZodArray<z.ZodLazy<MessageV2Schema<D, R>>>>;
  readonly WebhookMessageV1: z.ZodLazy<MessageV1Schema<D, R>>;
  readonly WebhookBodyV1: z.ZodLazy<z.ZodArray<z.ZodLazy<MessageV1Schema<D, R>>>>;
}

const build = <D extends Dialect, R extends Reading>(dialect: D, reading: R): Contract<D, R> => {
  const mode: Mode<D, R> = { dialect, reading };
  const WebhookMessageV2 = whenUsed(() => webhookMessageV2(mode));
  const WebhookMessageV1 = whenUsed(() => webhookMessageV1(mode));
  return {
    LogRecord: whenUsed(() => logRecord(mode, {})),
    LogLine: whenUsed(() => logLine(mode)),
    WebhookMessageV2,
    WebhookBodyV2: whenUsed(() => body(WebhookMessageV2)),
    WebhookMessageV1,
    WebhookBodyV1: whenUsed(() => body(WebhookMessageV1)),
  };
};

const READINGS: {
  readonly [D in Dialect]: { readonly [R in Reading]: () => Contract<D, R> };
} = {
  strict: {
    emitted: unlessSuspect(() => build('strict', 'emitted')),
    received: unlessSuspect(() => build('strict', 'received')),
  },
  open: {
    emitted: unlessSuspect(() => build('open', 'emitted')),
    received: unlessSuspect(() => build('open', 'received')),
  },
};

export interface ContractOptions<D extends Dialect, R extends Reading> {
  /**
   * `strict` (default) keeps closed vocabularies closed and channel A addresses IPv4; `open` takes
   * any non-empty word for verb, scheme, ruleset, severity, incident_type, message_type and
   * pulse_genre, IPv6, and an array for `parameters.json`.
   */
  readonly dialect?: D;
  /**
   * `emitted` (default) is what this library writes: unknown keys are refused. `received` is what
   * it reads: unknown keys are kept, our own narrowings are not checked.
   */
  readonly reading?: R;
}

/**
 * The schemas in one reading of the contract (D0). The same options give the same schemas.
 * Throws ERR_INVALID_OPTION for a dialect or reading that does not exist.
 */
export function contract<D extends Dialect = 'strict', R extends Reading = 'emitted'>(
  options: ContractOptions<D, R> = {},
): Contract<D, R> {
  const { dialect = 'strict', reading = 'emitted' } = ownProperties(options);
  if (!Object.hasOwn(READINGS, dialect)) refuse('dialect', "'strict' or 'open'");
  if (!Object.hasOwn(READINGS.strict, reading)) refuse('reading', "'emitted' or 'received'");
  return READINGS[dialect][reading]() as Contract<D, R>;
}

function refuse(option: string, expected: string): never {
  throw new SecurityEventError('ERR_INVALID_OPTION', {
    detail: `expected ${option} to be ${expected}`,
    path: [option],
  });
}
