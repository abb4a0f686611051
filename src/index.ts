/**
 * `security-event-delivery`: security events as log records (channel A) and as signed webhook
 * requests (channel B). Everything public of the root entry, name by name.
 */
export {
  type Dialect,
  decodeSvcIdentifier,
  EVENT_VERSION,
  encodeSvcIdentifier,
  type LogLine,
  type LogRecord,
  type LogRecordInput,
  type Reading,
  slugify,
  type WebhookMessageV1,
  type WebhookMessageV2,
} from './contract/index.ts';
export {
  type ErrorKind,
  type InputIssue,
  SecurityEventError,
  type SecurityEventErrorCode,
} from './errors.ts';
export type { LineStream, LogDestination, PinoLogger } from './log/destination.ts';
export type { PlatformFunction } from './log/platform.ts';
export type { WritableRecord, WrittenRecord } from './log/record-check.ts';
export type { LogWriterStats } from './log/write-counters.ts';
export { createLogWriter, type LogWriter } from './log/writer.ts';
export type { LogWriterOptions } from './log/writer-options.ts';
export type { Format } from './queue/queue.ts';
export type { FailureCode, Outcome } from './webhook/outcome.ts';
export type { MessageToSend } from './webhook/read-messages.ts';
export type {
  RequestReport,
  SendReport,
  UndeliveredMessage,
  UndeliveredReason,
} from './webhook/report.ts';
export type { GiveUpReason, RetrySchedule } from './webhook/retry.ts';
export { sendWebhook } from './webhook/send-now.ts';
export type { SendOptions, WebhookDestination } from './webhook/send-options.ts';
export { generateSecret, sign, verify } from './webhook/signature.ts';
export type { NetworkPolicy } from './webhook/wire/network-guard.ts';
