/** What `createReporter` is given, checked when it is made. */
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
import type { Writer } from './log-end.ts';
import type { RejectedEvent } from './rejections.ts';
import { readEventWords, readIncidentWords } from './word-tables.ts';

export interface ReporterOptions {
  /** Who reports: in every record, and on channel B the application (D46). None of them empty. */
  readonly service: Service;
  /**
   * Channel A: the destination of the lines and how they are written, or a writer of your own, which
   * `close` leaves open; `false`: none. Default: standard output, synchronously.
   */
  readonly log?: Pick<LogWriterOptions, 'destination' | 'sync' | 'maxBufferBytes'> | Writer | false;
  /**
   * Channel B: `{ url, secret }` for the service as the one application, the options of
   * `createWebhookSender`, or a sender of your own, which `close` leaves open. Default: none.
   */
  readonly webhook?: WebhookSenderOptions<'open'> | Pick<WebhookSender, 'send' | 'flush' | 'close'>;
  /** Attributes of the log platform beside the record (D18). Default `'auto'`: of the active tracer. */
  readonly platform?: LogWriterOptions<'open'>['platform'];
  /** Where a named platform takes the ids of the active span from. Default: the tracers' globals. */
  readonly activeSpan?: LogWriterOptions['activeSpan'];
  /** Dialect of records (D14). Default `'open'`: an unknown word must not lose a detected attack. */
  readonly dialect?: Dialect;
  /** Called with each rejected event: see {@link RejectedEvent}. Default: only a diagnostics event. */
  readonly onRejected?: (rejected: RejectedEvent) => void;
  /**
   * Sees each event as its record, before both channels, and may change it in place or give another;
   * `null` drops it. What it throws rejects the event.
   */
  readonly beforeSend?: BeforeSend;
  /** `false`: every method does nothing, and quickly. Default true. */
  readonly enabled?: boolean;
  /** For development and tests: a call throws what is wrong with its event. Default false. */
  readonly strict?: boolean;
  /** What is known of the current request. Default: what the host adapters of this library know. */
  readonly context?: () => RequestContext | undefined;
  /** What else is known of addresses that are given as text: see `createEnrichment`. */
  readonly enrichment?: Enrichment;
  /**
   * Whether the name of an exploit's record ends in its protection (D1), as
   * `svc.ev0.threat.vulnerability_exploit.lfi` does. `beforeSend` sees the name without it. Default
   * false.
   */
  readonly suffix?: boolean;
  /** Rows of the table of rulesets and protections (D47), by word. */
  readonly eventWords?: EventWordsTable;
  /** Rows of the table of incident types (D48), by type; `null`: no message. */
  readonly incidentWords?: IncidentWordsTable;
  /** Where events and incidents can be looked at: a URL with `{id}` in it. Default `urn:uuid:{id}`. */
  readonly eventUrl?: string;
  /** Where reported incidents are remembered (D50). Default: memory, 100,000 incidents, 30 days each. */
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
  // Row by row: see word-tables.ts.
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

/** Not characters: a URL cannot encode them. */
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
  // Without a prototype, as `check` gives them: what an attack put there is no option.
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
