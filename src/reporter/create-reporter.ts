/** `createReporter`: creates a reporter with its writer and sender. */
import { createWebhookSender } from '../delivery/create-sender.ts';
import { createMemoryIncidents } from '../incident/memory-incidents.ts';
import { RecordWriter } from '../log/writer.ts';
import { settingsOf } from '../log/writer-options.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { newId } from '../runtime/id.ts';
import { ignoreRejection } from '../runtime/ignore-rejection.ts';
import type { MessageRules } from './build-message.ts';
import { Channels } from './channels.ts';
import { EventPipeline } from './event-pipeline.ts';
import { IncidentPipeline } from './incident-pipeline.ts';
import { IncidentReports } from './incident-reports.ts';
import { LogChannel, type LogOutput } from './log-channel.ts';
import { type MessageSink, NO_RESULTS, NOTHING_FLUSHED, senderSink } from './message-sink.ts';
import { EventReceipt, type Receipt } from './receipt.ts';
import { Rejections } from './rejections.ts';
import type { Reporter } from './reporter.ts';
import { ReporterMethods } from './reporter.ts';
import {
  type CheckedOptions,
  isSender,
  isWriter,
  type ReporterOptions,
  readReporterOptions,
  urlFrom,
} from './reporter-options.ts';
import { ReporterCounters } from './reporter-stats.ts';
import { SendBatcher } from './send-batcher.ts';
import { RecordValidator } from './validate-record.ts';

/**
 * Creates the reporter of an application: see {@link Reporter}.
 *
 * @throws SecurityEventError for invalid options: `ERR_INVALID_OPTION`, `ERR_INVALID_URL`,
 * `ERR_INVALID_SECRET`, `ERR_SETTINGS_FAILED`, `ERR_DESTINATION_NOT_SYNCHRONOUS`; `path` names the
 * option.
 */
export function createReporter(options: ReporterOptions): Reporter {
  return makeReporter(options, { clock: systemClock, newId });
}

export interface ReporterSystem {
  readonly clock: Clock;
  readonly newId: () => string;
}

export function makeReporter(options: ReporterOptions, system: ReporterSystem): Reporter {
  const given = readReporterOptions(options);
  if (given.enabled === false) return createDisabledReporter();
  const counters = new ReporterCounters();
  const rejections = new Rejections(counters, given.onRejected);
  const { log, sink } = channelsOf(given, system.clock);
  const channels = new Channels({
    validator: new RecordValidator(given.dialect ?? 'open'),
    log,
    batcher: sink && new SendBatcher(sink),
    counters,
    rejections,
  });
  const { clock } = system;
  const { enrichment } = given;
  const shared = {
    rules: rulesOf(given, system.newId),
    channels,
    counters,
    rejections,
    enrichment,
    clock,
  };
  const reports = new IncidentReports(given.incidents ?? createMemoryIncidents());
  const pipeline = new EventPipeline({
    ...shared,
    incidents: new IncidentPipeline({ ...shared, reports }),
    request: given.context,
    beforeSend: given.beforeSend,
    isStrict: given.strict ?? false,
    hasSuffix: given.suffix ?? false,
  });
  return new ReporterMethods({
    pipeline,
    channels,
    counters,
    logChannel: new LogChannel(log),
    sink,
    clock,
  });
}

function rulesOf(
  { service, eventWords, incidentWords, eventUrl }: CheckedOptions,
  makeId: () => string,
): MessageRules {
  return {
    service,
    eventWords,
    incidentWords,
    urlOf: (id) => (eventUrl === undefined ? `urn:uuid:${id}` : urlFrom(eventUrl, id)),
    hasUrls: eventUrl !== undefined,
    newId: makeId,
  };
}

/** Opens both channels or none: no log file stays open if the reporter cannot be created. */
function channelsOf(
  given: CheckedOptions,
  clock: Clock,
): { readonly log: LogOutput | undefined; readonly sink: MessageSink | undefined } {
  const log = writerOf(given, clock);
  try {
    return { log, sink: sinkOf(given) };
  } catch (error) {
    ignoreRejection(log?.own?.close());
    throw error;
  }
}

function writerOf(
  { log = {}, platform = 'auto', activeSpan }: CheckedOptions,
  clock: Clock,
): LogOutput | undefined {
  if (log === false) return undefined;
  if (isWriter(log)) return { writer: log };
  const span = activeSpan === undefined ? {} : { activeSpan };
  const settings = settingsOf<'open'>({ ...log, ...span, platform, dialect: 'open' });
  const own = new RecordWriter<'open'>(settings, clock);
  return { writer: own, own, writesLater: !settings.sync };
}

function sinkOf({ webhook, service }: CheckedOptions): MessageSink | undefined {
  if (webhook === undefined) return undefined;
  if (isSender(webhook)) return senderSink(webhook, false);
  const { svc_id: id, name, env: environment } = service;
  const application = { id, name, environment };
  const isOne = !Object.hasOwn(webhook, 'settings');
  const options = isOne ? { application, ...webhook } : webhook;
  return senderSink(createWebhookSender<'open'>({ dialect: 'open', ...options }), true);
}

function createDisabledReporter(): Reporter {
  const receipt = new EventReceipt({ outcome: 'skipped', reason: 'disabled' });
  const skip = (): Receipt => receipt;
  const counters = new ReporterCounters();
  const reporter: Reporter = {
    attack: skip,
    vulnerabilityExploit: skip,
    incident: skip,
    playbookTrigger: skip,
    userLogin: skip,
    userSignup: skip,
    customEvent: skip,
    with: () => reporter,
    stats: () => counters.snapshot(),
    flush: async () => NOTHING_FLUSHED,
    close: async () => ({ ...NO_RESULTS, returned: [], left: 0 }),
    [Symbol.asyncDispose]: async () => {},
  };
  return reporter;
}
