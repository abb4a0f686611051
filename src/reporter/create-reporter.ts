/** `createReporter`: creates a reporter with its writer and sender. */
import { createWebhookSender } from '../delivery/create-sender.ts';
import { SecurityEventError } from '../errors.ts';
import { createMemoryIncidents } from '../incident/memory-incidents.ts';
import { isStream, streamOfLogger } from '../log/stream-kind.ts';
import { RecordValidator } from '../log/validate-record.ts';
import { RecordWriter } from '../log/writer.ts';
import { readWriterOptions } from '../log/writer-options.ts';
import { check, invalidOption, unreadableOption } from '../option-rules.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { ignoreRejection } from '../runtime/host-calls.ts';
import { newId } from '../runtime/id.ts';
import { buildMessage, type MessageRules } from './build-message.ts';
import { buildRecord, NO_CONTEXT } from './build-record.ts';
import { contextOfEvent } from './event-context.ts';
import type { EventContext } from './event-input.ts';
import { EventPipeline } from './event-pipeline.ts';
import { IncidentPipeline } from './incident-pipeline.ts';
import { IncidentReports } from './incident-reports.ts';
import { LogChannel, type LogOutput } from './log-channel.ts';
import { settledReceipt } from './receipt.ts';
import { Rejections } from './rejections.ts';
import { type Reporter, ReporterMethods } from './reporter.ts';
import {
  type CheckedOptions,
  isSender,
  isWriter,
  LOG_RULES,
  type LogOptions,
  type ReporterOptions,
  readReporterOptions,
  urlFrom,
} from './reporter-options.ts';
import { ReporterCounters } from './reporter-stats.ts';
import { SharedContextCache } from './shared-context.ts';
import { type MessageOutput, WebhookChannel } from './webhook-channel.ts';

/**
 * Creates the reporter of an application: see {@link Reporter}.
 *
 * @throws SecurityEventError for invalid options: `ERR_INVALID_OPTION`, `ERR_INVALID_URL`,
 * `ERR_INVALID_SECRET`, `ERR_ADDRESS_REFUSED`, `ERR_SETTINGS_FAILED`, `ERR_DESTINATION_NOT_SYNCHRONOUS`;
 * `path` names the option.
 */
export function createReporter(options: ReporterOptions): Reporter {
  return makeReporter(options, { clock: systemClock, newId });
}

/** The clock and ids of a reporter; tests pass their own. */
export interface ReporterSystem {
  readonly clock: Clock;
  readonly newId: () => string;
}

/** Creates a reporter like {@link createReporter}, with the given clock and ids. */
export function makeReporter(options: ReporterOptions, system: ReporterSystem): Reporter {
  const { clock } = system;
  const checked = readReporterOptions(options);
  const { enrichment, strict: isStrict } = checked;
  const counters = new ReporterCounters();
  if (!checked.enabled) return new ReporterMethods({ ...DISABLED, counters, clock });
  const rejections = new Rejections(counters, checked.onRejected);
  const outputs = openOutputs(checked, clock);
  const validator = new RecordValidator(checked.dialect);
  const log =
    outputs.log && new LogChannel({ output: outputs.log, validator, counters, rejections });
  const webhook =
    outputs.webhook && new WebhookChannel({ output: outputs.webhook, counters, rejections });
  const rules = rulesOf(checked, system.newId);
  warmUp(validator, rules);
  const shared = { rules, log, webhook, counters, rejections, enrichment, clock };
  const reports = new IncidentReports(checked.incidents ?? createMemoryIncidents());
  const pipeline = new EventPipeline({
    ...shared,
    validator,
    incidents: new IncidentPipeline({ ...shared, reports }),
    readRequest: checked.context,
    beforeSend: checked.beforeSend,
    hasSuffix: checked.suffix,
    isStrict,
  });
  return new ReporterMethods({ pipeline, counters, log, webhook, clock, isStrict });
}

/** The context of the example event of {@link warmUp}, which is never reported. */
const EXAMPLE: EventContext = {
  actor: { ip: '192.0.2.1' },
  detected_at: new Date(0).toISOString(),
  http: {
    request: {
      host: 'shop.example',
      parameters: { form: {}, json: {}, other: {}, query: { q: 'a' } },
      path: '/',
      port: 443,
      referer: null,
      remote_ip: '192.0.2.1',
      remote_port: '50000',
      scheme: 'https',
      user_agent: 'example',
      verb: 'GET',
    },
    response: { blocked: false, status: 200 },
  },
};

/** Builds an unused record and message, so that the first event need not wait for schemas and serialisers. */
function warmUp(validator: RecordValidator, rules: MessageRules): void {
  try {
    const { service } = rules;
    const payload = { ruleset: 'crs' };
    const call = { kind: 'attack', payload, context: NO_CONTEXT, module: undefined } as const;
    const { detected_at: detectedAt } = EXAMPLE;
    const context = contextOfEvent(EXAMPLE, {}, undefined);
    const draft = buildRecord({ call, detectedAt, context, service, payload, now: () => '' });
    const shared = new SharedContextCache(service).find(draft.context, undefined);
    validator.serialize(draft, shared?.json);
    const event = { call, context: EXAMPLE, draft, shared, override: {} };
    buildMessage(event, {}, { ...rules, newId: () => '' });
  } catch {
    // A build can fail while a prototype is polluted. The first event that needs the schemas builds them.
  }
}

const SKIPPED = {
  receipt: settledReceipt({ outcome: 'skipped', reason: 'disabled' }),
  error: undefined,
} as const;

/** Skips every event without reading it. */
const DISABLED = {
  pipeline: { report: () => SKIPPED, waitForAnswers: async () => {}, close: () => {} },
  log: undefined,
  webhook: undefined,
  isStrict: false,
} as const;

function rulesOf(
  { service, eventVocabulary, incidentVocabulary, eventUrl }: CheckedOptions,
  makeId: () => string,
): MessageRules {
  return {
    service,
    eventVocabulary,
    incidentVocabulary,
    urlOf: (id) => (eventUrl === undefined ? `urn:uuid:${id}` : urlFrom(eventUrl, id)),
    hasUrls: eventUrl !== undefined,
    newId: makeId,
  };
}

/** Opens both outputs or none: no log file stays open if the reporter cannot be created. */
function openOutputs(options: CheckedOptions, clock: Clock) {
  const log = openWithin('log', () => openLog(options, clock));
  try {
    return { log, webhook: openWithin('webhook', () => openWebhook(options)) };
  } catch (error) {
    if (log?.isOwned === true) ignoreRejection(log.writer.close());
    throw error;
  }
}

/** Opens an output. The `path` of an error begins with the name of the reporter's option. */
function openWithin<T>(name: 'log' | 'webhook', open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof SecurityEventError) throw error.copy([name, ...error.path]);
    throw unreadableOption([name], error);
  }
}

const LOG_EXPECTED =
  'expected a destination as `log: { destination }`, or a writer with write, flush and close';

function openLog(
  { log = {}, platform, activeSpan }: CheckedOptions,
  clock: Clock,
): LogOutput | undefined {
  if (log === false) return undefined;
  if (isWriter(log)) return { isOwned: false, writer: log };
  if (isStream(log) || streamOfLogger(log) !== undefined) throw invalidOption(LOG_EXPECTED, []);
  const span = activeSpan === undefined ? {} : { activeSpan };
  const own = check<LogOptions>(log, LOG_RULES, { name: 'log', path: [] });
  // The reporter validates records in its dialect before the writer gets them.
  const settings = readWriterOptions<'open'>({ ...own, ...span, platform, dialect: 'open' });
  return { isOwned: true, writer: new RecordWriter<'open'>(settings, clock) };
}

function openWebhook({ webhook, service }: CheckedOptions): MessageOutput | undefined {
  if (webhook === undefined) return undefined;
  if (isSender(webhook)) return { isOwned: false, sender: webhook };
  const { svc_id: id, name, env: environment } = service;
  const application = { id, name, environment };
  const hasOneDestination = !Object.hasOwn(webhook, 'settings');
  const options = hasOneDestination ? { application, ...webhook } : webhook;
  const sender = createWebhookSender<'open'>({ dialect: 'open', ...options });
  return { isOwned: true, sender };
}
