/**
 * `security-event-delivery`: security events as log records (channel A) and as signed webhook
 * requests (channel B). Lists all public names of the root entry.
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
export { createWebhookSender } from './delivery/create-sender.ts';
export type { DeliveryEvent, DeliveryEventName, DeliveryEvents } from './delivery/events.ts';
export type {
  DeliveryOptions,
  ManyDestinations,
  OneDestination,
  SenderRole,
  SendOptions,
  WebhookDestination,
  WebhookSenderOptions,
} from './delivery/options.ts';
export type {
  DestinationFailure,
  RequestReport,
  SendReport,
  UndeliveredMessage,
  UndeliveredReason,
} from './delivery/report.ts';
export {
  type ExplainedAttempt,
  type ExplainedSchedule,
  explainSchedule,
  type ScheduleToExplain,
} from './delivery/retry-policy.ts';
export { sendWebhook } from './delivery/send-webhook.ts';
export type {
  CloseResult,
  DeadLetterList,
  DeadLetterQuery,
  DeadLetterSelection,
  DeadMessage,
  FlushResult,
  QueuedMessage,
  SenderStats,
  SendResult,
  SkippedMessage,
  SkipReason,
  WebhookSender,
} from './delivery/sender.ts';
export {
  type ErrorKind,
  type InputIssue,
  SecurityEventError,
  type SecurityEventErrorCode,
} from './errors.ts';
export type {
  IncidentChanges,
  IncidentChannel,
  IncidentReport,
  IncidentStore,
} from './incident/incident-store.ts';
export { createMemoryIncidents, type MemoryIncidentsOptions } from './incident/memory-incidents.ts';
export type { SpanIds, SpanReader } from './log/active-span.ts';
export type { LineStream, LogDestination, PinoLogger } from './log/open-sink.ts';
export type { PlatformFunction } from './log/platform.ts';
export type { WritableRecord, WrittenRecord } from './log/validate-record.ts';
export type { LogWriterStats, WriteReport } from './log/write-counters.ts';
export { createLogWriter, type LogWriter } from './log/writer.ts';
export type { LogWriterOptions } from './log/writer-options.ts';
export type {
  EventTerms,
  EventVocabulary,
  IncidentTerms,
  IncidentVocabulary,
} from './projection/vocabulary-map.ts';
export type {
  DeadReason,
  DiscardReason,
  Durability,
  Format,
  Health,
  Ledger,
  MessageQueue,
  QueueStats,
} from './queue/queue.ts';
export { createReporter } from './reporter/create-reporter.ts';
export type {
  ActorInput,
  AttackPayload,
  CustomOptions,
  EventContext,
  EventKind,
  ExploitPayload,
  IncidentPayload,
  MessageOverride,
  PlaybookPayload,
  UserEventPayload,
} from './reporter/event-input.ts';
export type { BeforeSend } from './reporter/event-pipeline.ts';
export type { EventSkipReason, Receipt, Settlement } from './reporter/receipt.ts';
export type { RejectedEvent } from './reporter/rejections.ts';
export type {
  EventReporter,
  Reporter,
  ReporterCloseResult,
  ReporterFlushResult,
} from './reporter/reporter.ts';
export type { ReporterOptions } from './reporter/reporter-options.ts';
export type { RejectedChannel, ReporterStats } from './reporter/reporter-stats.ts';
export type {
  ApplicationSettings,
  ApplicationTls,
  OrganisationFormat,
  OrganisedApplication,
  Pem,
  Settings,
} from './settings/schema.ts';
export type { SettingsFunction, SettingsSource } from './settings/source.ts';
export type { NetworkPolicy } from './webhook/http/ssrf-guard.ts';
export type { FailureCode, Outcome, PhaseTimings } from './webhook/outcome.ts';
export type { MessageToSend } from './webhook/read-messages.ts';
export type { GiveUpReason, RetrySchedule } from './webhook/retry.ts';
export { generateSecret, sign, verify } from './webhook/signature.ts';
