/** The options of `createReporter`, and their validation. */
import type { Enrichment } from '../capture/enrichment/enrichers.ts';
import type { RequestContext } from '../capture/request/request-scope.ts';
import type { Dialect } from '../contract/index.ts';
import type { WebhookSenderOptions } from '../delivery/options.ts';
import type { WebhookSender } from '../delivery/sender.ts';
import type { IncidentStore } from '../incident/incident-store.ts';
import type { LogWriterOptions } from '../log/writer-options.ts';
import {
  A_FUNCTION,
  ANYTHING,
  check,
  invalidOption,
  object,
  oneOf,
  type Rules,
  usable,
} from '../option-rules.ts';
import { ownProperties, readProperty } from '../own-properties.ts';
import type { Service } from '../projection/event-messages.ts';
import type { EventWordsTable, IncidentWordsTable } from '../projection/vocabulary-map.ts';
import type { BeforeSend } from './event-pipeline.ts';
import type { Writer } from './log-channel.ts';
import type { RejectedEvent } from './rejections.ts';
import { readEventWords, readIncidentWords } from './word-tables.ts';

export interface ReporterOptions {
  /** The reporting service, for every record; on channel B its application. No text may be empty. */
  readonly service: Service;
  /**
   * Channel A: options of the log writer, your own writer (which `close` leaves open), or `false` for
   * none. Default: standard output, synchronously.
   */
  readonly log?: Pick<LogWriterOptions, 'destination' | 'sync' | 'maxBufferBytes'> | Writer | false;
  /**
   * Channel B: `{ url, secret }` for the service as the only application, the options of
   * `createWebhookSender`, or your own sender (which `close` leaves open). Default: none.
   */
  readonly webhook?: WebhookSenderOptions<'open'> | Pick<WebhookSender, 'send' | 'flush' | 'close'>;
  /** Adds attributes of the log platform to each line. Default `'auto'`: of the active tracer. */
  readonly platform?: LogWriterOptions<'open'>['platform'];
  /** Returns the ids of the active span, for a named platform. Default: reads the tracers' globals. */
  readonly activeSpan?: LogWriterOptions['activeSpan'];
  /** Dialect of records. Default `'open'`: an unknown word must not lose a detected attack. */
  readonly dialect?: Dialect;
  /** Called with each rejected event: see {@link RejectedEvent}. Default: only a diagnostics event. */
  readonly onRejected?: (rejected: RejectedEvent) => void;
  /**
   * Called with each record before both channels. It may change the record or return another; `null`
   * drops the event, and an error rejects it.
   */
  readonly beforeSend?: BeforeSend;
  /** `false`: every method does nothing, and quickly. Default true. */
  readonly enabled?: boolean;
  /** For development and tests: throws the error of a rejected event. Default false. */
  readonly strict?: boolean;
  /** Returns the context of the current request. Default: reads it from the host adapters. */
  readonly context?: () => RequestContext | undefined;
  /** Adds facts about addresses that are given as text: see `createEnrichment`. */
  readonly enrichment?: Enrichment;
  /**
   * Appends the protection to the name of an exploit's record:
   * `svc.ev0.threat.vulnerability_exploit.lfi`. `beforeSend` gets the name without it. Default false.
   */
  readonly suffix?: boolean;
  /** Overrides rows of the vocabulary of rulesets and protections, by word. */
  readonly eventWords?: EventWordsTable;
  /** Overrides rows of the vocabulary of incident types, by type; `null`: no message. */
  readonly incidentWords?: IncidentWordsTable;
  /** The URL of events and incidents, with `{id}` in it. Default `urn:uuid:{id}`. */
  readonly eventUrl?: string;
  /** Remembers reported incidents. Default: in memory, 100,000 incidents, 30 days each. */
  readonly incidents?: IncidentStore;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

const hasMethods = (value: unknown, ...names: readonly string[]): boolean =>
  isObject(value) && names.every((name) => typeof readProperty(value, name) === 'function');

const RULES: Rules<keyof ReporterOptions> = {
  service: object('an object with svc_id, name and env', () => true),
  log: usable('an object, a writer or false', (value) => value === false || isObject(value)),
  webhook: object('an object with url and secret, or a sender', () => true),
  platform: usable('anything that a log writer takes', () => true),
  activeSpan: A_FUNCTION,
  dialect: oneOf('strict', 'open'),
  onRejected: A_FUNCTION,
  beforeSend: A_FUNCTION,
  enabled: oneOf(true, false),
  strict: oneOf(true, false),
  context: A_FUNCTION,
  enrichment: usable('what `createEnrichment` made', (value) => hasMethods(value, 'factsOf')),
  suffix: oneOf(true, false),
  // Checked in word-tables.ts.
  eventWords: ANYTHING,
  incidentWords: ANYTHING,
  eventUrl: usable('an absolute URL with {id} in it', isTemplate),
  incidents: usable('a store with record and retract', (value) =>
    hasMethods(value, 'record', 'retract'),
  ),
};

const SERVICE_RULES = {
  svc_id: usable('a non-empty string', isText),
  name: usable('a non-empty string', isText),
  env: usable('a non-empty string', isText),
};

const ID = '{id}';

function isTemplate(value: unknown): boolean {
  return typeof value === 'string' && value.includes(ID) && URL.canParse(urlFrom(value, 'id'));
}

/** Returns the URL of an event or incident; its id may have any characters. */
export const urlFrom = (template: string, id: string): string =>
  template.replaceAll(ID, encodeURIComponent(id.replaceAll(LONE_SURROGATES, '\uFFFD')));

/** `encodeURIComponent` throws for these. */
const LONE_SURROGATES = /\p{Surrogate}/gu;

export type CheckedOptions = Omit<ReporterOptions, Checked> &
  Required<Pick<ReporterOptions, Checked>>;
type Checked = 'service' | 'eventWords' | 'incidentWords';

/** @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. */
export function readReporterOptions(options: ReporterOptions): CheckedOptions {
  const given = check<ReporterOptions>(options, RULES);
  if (given.service === undefined) {
    throw invalidOption('expected service: { svc_id, name, env }', ['service']);
  }
  const subject = { name: 'service', path: ['service'] };
  const { svc_id, name, env } = check<Service>(given.service, SERVICE_RULES, subject);
  for (const [key, value] of Object.entries({ svc_id, name, env })) {
    if (value === undefined) throw invalidOption(`expected service.${key}`, ['service', key]);
  }
  return ownProperties({
    ...given,
    service: { svc_id, name, env } as Service,
    eventWords: readEventWords(given.eventWords),
    incidentWords: readIncidentWords(given.incidentWords),
  });
}

export const isWriter = (log: object): log is Writer => hasMethods(log, 'write', 'flush', 'close');

export const isSender = (
  webhook: object,
): webhook is Pick<WebhookSender, 'send' | 'flush' | 'close'> =>
  hasMethods(webhook, 'send', 'flush', 'close');
