/** The contract's schemas by dialect and reading, each built on first use. */
import type * as z from 'zod';
import { check, oneOf, type Rules } from '../option-rules.ts';
import type { Dialect, Mode, Reading } from './dialect.ts';
import { lazySchema, memoizeUnlessPolluted } from './lazy-schema.ts';
import { type LogLineSchema, logLine } from './log-line.ts';
import { type LogRecordSchema, logRecord } from './log-record.ts';
import { type MessageV1Schema, webhookMessageV1 } from './webhook-v1.ts';
import { body, type MessageV2Schema, webhookMessageV2 } from './webhook-v2.ts';

/** The schemas of one dialect and reading, under the names that `contract/index.ts` exports. */
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
  const WebhookMessageV2 = lazySchema(() => webhookMessageV2(mode));
  const WebhookMessageV1 = lazySchema(() => webhookMessageV1(mode));
  return {
    LogRecord: lazySchema(() => logRecord(mode, {})),
    LogLine: lazySchema(() => logLine(mode)),
    WebhookMessageV2,
    WebhookBodyV2: lazySchema(() => body(WebhookMessageV2)),
    WebhookMessageV1,
    WebhookBodyV1: lazySchema(() => body(WebhookMessageV1)),
  };
};

const readings = <D extends Dialect>(dialect: D) => ({
  emitted: memoizeUnlessPolluted(() => build(dialect, 'emitted')),
  received: memoizeUnlessPolluted(() => build(dialect, 'received')),
});

const CONTRACTS = { strict: readings('strict'), open: readings('open') };

export interface ContractOptions<D extends Dialect, R extends Reading> {
  /**
   * `strict` (default) has closed vocabularies and IPv4 on channel A; `open` accepts any non-empty string for
   * verb, scheme, ruleset, severity, incident_type, message_type and pulse_genre, IPv6, and an array for
   * `parameters.json`.
   */
  readonly dialect?: D | undefined;
  /**
   * `emitted` (default) is what this library writes: unknown keys are refused. `received` is what it reads:
   * unknown keys are kept, and rules that only this library adds are not checked.
   */
  readonly reading?: R | undefined;
}

/**
 * Returns the schemas of one dialect and reading. The same options return the same schemas.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option.
 */
export function contract<D extends Dialect = 'strict', R extends Reading = 'emitted'>(
  options: ContractOptions<D, R> = {},
): Contract<D, R> {
  const { dialect = 'strict', reading = 'emitted' } = check<ContractOptions<D, R>>(
    options,
    CONTRACT_RULES,
  );
  return CONTRACTS[dialect][reading]() as Contract<D, R>;
}

export const CONTRACT_RULES: Rules<'dialect' | 'reading'> = {
  dialect: oneOf('strict', 'open'),
  reading: oneOf('emitted', 'received'),
};
