/**
 * `security-event-delivery/contract`: the schemas of both channels; each type has the name of its schema. The
 * exports have the strict dialect and the emitted reading (see {@link ContractOptions}); `received` has
 * the received reading. `contract({ dialect, reading })` returns any combination.
 */
import type * as z from 'zod';
import { type Contract, contract } from './contract.ts';

const emitted = contract();

/** The schemas of the strict dialect in the received reading. */
export const received = contract({ reading: 'received' });

/*
 * Named types of the schemas, for declarations of consumers: without them `export const Mine = LogRecord`
 * fails with TS2742 if zod is not a direct dependency of the consumer, as with pnpm.
 */
type LogRecordOf = Contract['LogRecord'];
export interface LogRecordSchema extends LogRecordOf {}
type LogLineOf = Contract['LogLine'];
export interface LogLineSchema extends LogLineOf {}
type WebhookMessageV2Of = Contract['WebhookMessageV2'];
export interface WebhookMessageV2Schema extends WebhookMessageV2Of {}
type WebhookBodyV2Of = Contract['WebhookBodyV2'];
export interface WebhookBodyV2Schema extends WebhookBodyV2Of {}
type WebhookMessageV1Of = Contract['WebhookMessageV1'];
export interface WebhookMessageV1Schema extends WebhookMessageV1Of {}
type WebhookBodyV1Of = Contract['WebhookBodyV1'];
export interface WebhookBodyV1Schema extends WebhookBodyV1Of {}

/** A record of channel A: envelope, context, payload. Narrows by `event_name`. */
export const LogRecord: LogRecordSchema = emitted.LogRecord;
export type LogRecord = z.output<typeof LogRecord>;

/** The service of an event and, if known, its actor and request. */
export type LogContext = LogRecord['context'];
/** Who caused an event: identifiers and address. */
export type LogActor = NonNullable<LogContext['actor']>;
/** The request that caused an event, and its response. */
export type LogHttp = NonNullable<LogContext['http']>;

/** A record with the attributes of a log platform. */
export const LogLine: LogLineSchema = emitted.LogLine;
export type LogLine = z.output<typeof LogLine>;

/** A message of channel B, as it is sent. Narrows by `message_type`. */
export const WebhookMessageV2: WebhookMessageV2Schema = emitted.WebhookMessageV2;
export type WebhookMessageV2 = z.output<typeof WebhookMessageV2>;

/** The body of a request: 1 to 1000 messages. */
export const WebhookBodyV2: WebhookBodyV2Schema = emitted.WebhookBodyV2;
export type WebhookBodyV2 = z.output<typeof WebhookBodyV2>;

/** An element of the deprecated format 1. Narrows by `svc_payload_type`. */
export const WebhookMessageV1: WebhookMessageV1Schema = emitted.WebhookMessageV1;
export type WebhookMessageV1 = z.output<typeof WebhookMessageV1>;

/** The body of a request of format 1. */
export const WebhookBodyV1: WebhookBodyV1Schema = emitted.WebhookBodyV1;
export type WebhookBodyV1 = z.output<typeof WebhookBodyV1>;

/** The input of `LogRecord.parse`: a record, including the variants in the contract's own examples. */
export type LogRecordInput = z.input<typeof LogRecord>;

export { type Contract, type ContractOptions, contract } from './contract.ts';
export type { Dialect, OpenWord, Reading } from './dialect.ts';
export type { Frozen } from './frozen.ts';
export type { JsonObject, JsonValue } from './json-value.ts';
export {
  type MessageToSendSchema,
  messageToSend,
  type WebhookMessageToSend,
} from './message-to-send.ts';
export { type ParsedLogLine, parseLogLine } from './parse-log-line.ts';
export { slugify } from './slug.ts';
export { decodeSvcIdentifier, encodeSvcIdentifier } from './svc-identifier.ts';
export {
  API_VERSION,
  EVENT_CATEGORIES,
  EVENT_KINDS,
  EVENT_NAMES,
  EVENT_VERSION,
  INCIDENT_EVENT_TYPES,
  INCIDENT_MESSAGE_TYPES,
  INCIDENT_STATUSES,
  INCIDENT_TYPES,
  MAX_MESSAGES_PER_REQUEST,
  MESSAGE_TYPES,
  PULSE_GENRES,
  RULESETS,
  SCHEMES,
  SEVERITIES,
  SVC_PAYLOAD_TYPES,
  VERBS,
} from './vocabulary.ts';
