/** Every option of `createReporter`: one row gives its type, range, default and documentation. */
import type { Enrichment } from '../capture/enrichment/enrichers.ts';
import type { RequestContext } from '../capture/request/request-scope.ts';
import type { Dialect } from '../contract/index.ts';
import type { WebhookSenderOptions } from '../delivery/options.ts';
import type { WebhookSender } from '../delivery/sender.ts';
import type { IncidentStore } from '../incident/incident-store.ts';
import type { SpanReader } from '../log/active-span.ts';
import { LOG_WRITER_OPTIONS, type LogWriterOptions } from '../log/writer-options.ts';
import {
  A_FUNCTION,
  checkedElsewhere,
  NON_EMPTY_TEXT,
  type OptionsOf,
  type OptionValues,
  object,
  oneOf,
  option,
  optional,
  type RequiredOptions,
  readOptions,
  required,
  usable,
} from '../option-rules.ts';
import { hasMethods, isObjectLike } from '../own-properties.ts';
import type { Service } from '../projection/event-messages.ts';
import type { EventVocabulary, IncidentVocabulary } from '../projection/vocabulary-map.ts';
import type { BeforeSend } from './event-pipeline.ts';
import type { Writer } from './log-channel.ts';
import type { RejectedEvent } from './rejections.ts';
import { readEventVocabulary, readIncidentVocabulary } from './vocabulary-options.ts';

const ON_OR_OFF = oneOf(true, false);

/** The options of `log`. The other options of a log writer are options of the reporter itself. */
const { destination, sync, maxBufferBytes } = LOG_WRITER_OPTIONS;
export const LOG_RULES = { destination, sync, maxBufferBytes };
export type LogOptions = Pick<LogWriterOptions, keyof typeof LOG_RULES>;

export const REPORTER_OPTIONS = {
  /** The reporting service, in every record and message. Its texts must not be empty. */
  service: required<Service>(object('an object with svc_id, name and env', () => true)),
  /**
   * Channel A: `{ destination, sync, maxBufferBytes }`, your own writer (with its own `dialect`; `close` leaves it
   * open), or `false` for none. Default standard output, synchronously.
   */
  log: optional<LogOptions | Writer | false>(
    usable('an object, a writer or false', (value) => value === false || isObjectLike(value)),
    'standard output, synchronously',
  ),
  /**
   * Channel B: `{ url, secret }` if the service is the only application, the options of `createWebhookSender`, or
   * your own sender (which `close` leaves open). Default none.
   */
  webhook: optional<WebhookSenderOptions<'open'> | Pick<WebhookSender, 'send' | 'flush' | 'close'>>(
    object('an object with url and secret, or a sender', () => true),
  ),
  /** Attributes of the log platform in each line, as for a log writer. Default `'auto'`. */
  platform: option<NonNullable<LogWriterOptions<'open'>['platform']>>(
    LOG_WRITER_OPTIONS.platform,
    'auto',
  ),
  /** Returns the ids of the active span, for a named platform. Default the active tracer's span. */
  activeSpan: optional<SpanReader>(A_FUNCTION, "the active tracer's span"),
  /** Dialect of records. Default `'open'`, so that an attack with an unknown value is not lost. */
  dialect: option<Dialect>(oneOf('strict', 'open'), 'open'),
  /** Called with each rejected event: see `RejectedEvent`. Also published as a diagnostics event. Default none. */
  onRejected: optional<(rejected: RejectedEvent) => void>(A_FUNCTION),
  /**
   * Called with each record before it goes to a channel. It may change the record or return another; `null` drops the
   * event, an error rejects it. Default none.
   */
  beforeSend: optional<BeforeSend>(A_FUNCTION),
  /** With `false` no method does anything. Default `true`. */
  enabled: option<boolean>(ON_OR_OFF, true),
  /**
   * For development and tests: throws the error of a rejected event, and rejects unknown keys of a context. Default
   * `false`.
   */
  strict: option<boolean>(ON_OR_OFF, false),
  /**
   * Returns the current request's context, not a promise. If it fails, the event has none; `NODE_DEBUG`
   * prints why. Default the context of the host adapter.
   */
  context: optional<() => RequestContext | undefined>(
    A_FUNCTION,
    'the context of the host adapter',
  ),
  /** Adds facts about addresses that are given as text: see `createEnrichment`. Default none. */
  enrichment: optional<Enrichment>(
    usable('the result of `createEnrichment`', (value) => hasMethods(value, 'factsOf')),
  ),
  /**
   * Appends the protection to the name of an exploit's record: `svc.ev0.threat.vulnerability_exploit.lfi`.
   * `beforeSend` gets the name without it. Default `false`.
   */
  suffix: option<boolean>(ON_OR_OFF, false),
  /** Category, kind and title of messages, by ruleset or protection. Overrides the built-in rows. Default none. */
  eventVocabulary: option<EventVocabulary>(checkedElsewhere('an object of rows'), {}, 'none'),
  /** Message type by incident type; `null`: no message. Overrides the built-in rows. Default none. */
  incidentVocabulary: option<IncidentVocabulary>(checkedElsewhere('an object of rows'), {}, 'none'),
  /** URL of your page of an event or incident. Default `urn:uuid:{id}`. */
  eventUrl: optional<string>(
    usable('an absolute URL with {id} in it', isTemplate),
    '`urn:uuid:{id}`',
  ),
  /** Remembers reported incidents. Default in memory: 100,000 incidents, each for 30 days. */
  incidents: optional<IncidentStore>(
    usable('a store with record and retract', (value) => hasMethods(value, 'record', 'retract')),
    'in memory: 100,000 incidents, each for 30 days',
  ),
};

type Given = OptionsOf<typeof REPORTER_OPTIONS>;

export interface ReporterOptions
  extends Omit<Given, 'service'>,
    RequiredOptions<Given, 'service'> {}

const SERVICE_OPTIONS = {
  svc_id: required<string>(NON_EMPTY_TEXT),
  name: required<string>(NON_EMPTY_TEXT),
  env: required<string>(NON_EMPTY_TEXT),
} satisfies Record<keyof Service, unknown>;

const ID = '{id}';

function isTemplate(value: unknown): boolean {
  return typeof value === 'string' && value.includes(ID) && URL.canParse(urlFrom(value, 'id'));
}

/** Returns the URL of an event or incident; its id may have any characters. */
export const urlFrom = (template: string, id: string): string =>
  template.replaceAll(ID, encodeURIComponent(id.replaceAll(LONE_SURROGATES, '\uFFFD')));

/** `encodeURIComponent` throws for these. */
const LONE_SURROGATES = /\p{Surrogate}/gu;

export type CheckedOptions = OptionValues<typeof REPORTER_OPTIONS>;

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. */
export function readReporterOptions(options: ReporterOptions): CheckedOptions {
  const given = readOptions(options, REPORTER_OPTIONS);
  const subject = { name: 'service', path: ['service'] };
  return {
    ...given,
    service: readOptions(given.service, SERVICE_OPTIONS, subject),
    eventVocabulary: readEventVocabulary(given.eventVocabulary),
    incidentVocabulary: readIncidentVocabulary(given.incidentVocabulary),
  };
}

export const isWriter = (log: object): log is Writer => hasMethods(log, 'write', 'flush', 'close');

export const isSender = (
  webhook: object,
): webhook is Pick<WebhookSender, 'send' | 'flush' | 'close'> =>
  hasMethods(webhook, 'send', 'flush', 'close');
