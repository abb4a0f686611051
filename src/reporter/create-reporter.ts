/** `createReporter`: from options to a reporter, with the writer and the sender that it needs. */
import type { JsonObject } from '../contract/index.ts';
import { createWebhookSender } from '../delivery/create-sender.ts';
import { createMemoryIncidents } from '../incident/memory-incidents.ts';
import { recordText } from '../log/record-check.ts';
import { RecordWriter } from '../log/writer.ts';
import { settingsOf } from '../log/writer-options.ts';
import { urnOf } from '../projection/security-event-text.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { newId } from '../runtime/id.ts';
import { calm } from '../runtime/ignore-rejection.ts';
import { Channels } from './channels.ts';
import { createDisabledReporter } from './disabled-reporter.ts';
import { EventTelling } from './event-reporter.ts';
import { HandOver } from './hand-over.ts';
import { IncidentReports } from './incident-reports.ts';
import { IncidentTelling } from './incident-telling.ts';
import { LogEnd } from './log-end.ts';
import type { MessageRules } from './message-for.ts';
import type { MessageSink } from './message-sink.ts';
import { QuickDrafts } from './quick-draft.ts';
import { QuickMessages } from './quick-message.ts';
import { type HeldWriter, recordChecker } from './record-sink.ts';
import { Rejections } from './rejections.ts';
import type { Reporter } from './reporter.ts';
import { ReporterFace } from './reporter-face.ts';
import {
  type CheckedOptions,
  isSender,
  isWriter,
  type ReporterOptions,
  readReporterOptions,
  urlFrom,
} from './reporter-options.ts';
import { ReporterCounters } from './reporter-stats.ts';
import { senderSink } from './sender-sink.ts';

/**
 * Makes the reporter of an application: see {@link Reporter}.
 *
 * @throws SecurityEventError for options alone: `ERR_INVALID_OPTION`, `ERR_INVALID_URL`,
 * `ERR_INVALID_SECRET`, `ERR_SETTINGS_FAILED`, `ERR_DESTINATION_NOT_SYNCHRONOUS`; `path` names what
 * is at fault.
 */
export function createReporter(options: ReporterOptions): Reporter {
  return makeReporter(options, { clock: systemClock, newId });
}

/** What a reporter needs of the world. */
export interface ReporterSystem {
  readonly clock: Clock;
  readonly newId: () => string;
}

export function makeReporter(options: ReporterOptions, system: ReporterSystem): Reporter {
  const given = readReporterOptions(options);
  if (given.enabled === false) return createDisabledReporter();
  const counters = new ReporterCounters();
  const rejections = new Rejections(counters, given.onRejected);
  const { held, sink } = channelsOf(given, system.clock);
  const channels = new Channels({
    check: recordChecker(given.dialect ?? 'open'),
    // Made ahead, which takes milliseconds: not where nobody asks for it.
    text: held?.writeText === undefined ? () => undefined : recordText('strict'),
    writer: held?.writer,
    writeText: held?.writeText,
    handOver: sink && new HandOver(sink),
    counters,
    rejections,
  });
  const rules = rulesOf(given, system.newId);
  const shared = {
    rules,
    channels,
    counters,
    rejections,
    enrichment: given.enrichment,
    clock: system.clock,
  };
  const reports = new IncidentReports(given.incidents ?? createMemoryIncidents());
  const quick = isQuick(given, held) ? new QuickDrafts(given.service) : undefined;
  const telling = new EventTelling({
    ...shared,
    incidents: new IncidentTelling({ ...shared, reports }),
    request: given.context,
    beforeSend: given.beforeSend,
    quick,
    // Of what was drafted quickly alone.
    quickMessages: quick && sink?.takesChecked === true ? new QuickMessages(rules) : undefined,
    isStrict: given.strict ?? false,
    hasSuffix: given.suffix ?? false,
  });
  const logEnd = new LogEnd(held);
  return new ReporterFace({ telling, channels, counters, logEnd, sink, clock: system.clock });
}

function rulesOf(
  { service, eventWords, incidentWords, eventUrl }: CheckedOptions,
  makeId: () => string,
): MessageRules {
  return {
    service,
    eventWords,
    incidentWords,
    urlOf: (id) => (eventUrl === undefined ? urnOf(id) : urlFrom(eventUrl, id)),
    hasUrls: eventUrl !== undefined,
    newId: makeId,
  };
}

/** Whoever may say something of a record sees each as a whole, and a function of the host's may give anything. */
const isQuick = (
  { context, beforeSend, suffix = false }: CheckedOptions,
  held: HeldWriter | undefined,
): boolean =>
  context === undefined && beforeSend === undefined && !suffix && held?.writeText !== undefined;

/** Of both channels, or of none: a log file stays open for no reporter. */
function channelsOf(
  given: CheckedOptions,
  clock: Clock,
): { readonly held: HeldWriter | undefined; readonly sink: MessageSink | undefined } {
  const held = writerOf(given, clock);
  try {
    return { held, sink: sinkOf(given) };
  } catch (error) {
    if (held?.isOwned === true) calm(held.writer.close());
    throw error;
  }
}

function writerOf(
  { log = {}, platform = 'auto', activeSpan }: CheckedOptions,
  clock: Clock,
): HeldWriter | undefined {
  if (log === false) return undefined;
  if (isWriter(log)) return { writer: log, isOwned: false };
  const span = activeSpan === undefined ? {} : { activeSpan };
  const settings = settingsOf<'open'>({ ...log, ...span, platform, validate: false });
  const writer = new RecordWriter<'open'>({ ...settings, check: asChecked }, clock);
  return { writer, isOwned: true, writeText: (text) => writer.writeText(text) };
}

/** The reporter has checked the record, and nobody else holds it. */
const asChecked = (record: unknown): JsonObject => record as JsonObject;

function sinkOf({ webhook, service }: CheckedOptions): MessageSink | undefined {
  if (webhook === undefined) return undefined;
  if (isSender(webhook)) return senderSink(webhook, false);
  const { svc_id: id, name, env: environment } = service;
  const application = { id, name, environment };
  const isOne = !Object.hasOwn(webhook, 'settings');
  const options = isOne ? { application, ...webhook } : webhook;
  return senderSink(createWebhookSender<'open'>({ dialect: 'open', ...options }), true);
}
