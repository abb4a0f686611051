/** Reports events: builds the record and the message of each, and passes them to both channels. */

import {
  currentScope,
  type RequestContext,
  type RequestScope,
} from '../capture/request/request-scope.ts';
import { isObject } from '../contract/dispatch.ts';
import { copyJson, type JsonObject } from '../contract/json-value.ts';
import { SecurityEventError } from '../errors.ts';
import type { RecordValidator } from '../log/validate-record.ts';
import { ownProperties } from '../own-properties.ts';
import { debugError } from '../runtime/diagnostics.ts';
import { ignoreRejection, isPromiseLike } from '../runtime/host-calls.ts';
import { isOwnWork } from '../runtime/untraced.ts';
import { buildMessage, type DraftMessage, type NoMessageReason } from './build-message.ts';
import {
  buildRecord,
  checkSlug,
  copyRecord,
  type EventCall,
  NO_CONTEXT,
  type RecordDraft,
  type ReportedEvent,
  recordPayload,
  withSuffix,
} from './build-record.ts';
import { checkMessage, checkModule } from './check-message.ts';
import { contextOfEvent } from './event-context.ts';
import { checkContextKeys, type EventContext, type MessageOverride } from './event-input.ts';
import { type IncidentParts, type IncidentPipeline, withEventType } from './incident-pipeline.ts';
import {
  EventReceipt,
  type EventSkipReason,
  type ReportResult,
  settledReceipt,
} from './receipt.ts';
import type { ReporterCounters } from './reporter-stats.ts';
import { SharedContextCache } from './shared-context.ts';
import { wrapHostError } from './wrap-host-error.ts';

/** Redacts an event, or drops it: see the reporter's options. */
export type BeforeSend =
  | ((record: RecordDraft) => object | null | undefined)
  | ((record: RecordDraft) => void);

/** How events are written and sent. The route of incidents asks the incident store first. */
interface Route<Message> {
  /** Returns the record, the error that rejected it, or undefined if none is written now. Never throws. */
  write(event: ReportedEvent): JsonObject | SecurityEventError | undefined;
  /** Throws for an invalid event. */
  buildMessage(event: ReportedEvent, override: MessageOverride): Message | NoMessageReason;
  /** Returns the message as the sender would get it. Throws for an invalid event. */
  complete(message: Message): DraftMessage;
  /** Settles the receipt. Never throws. */
  send(event: ReportedEvent, message: Message, receipt: EventReceipt): void;
}

export interface PipelineParts extends Omit<IncidentParts, 'reports'> {
  readonly validator: RecordValidator;
  readonly incidents: IncidentPipeline;
  readonly counters: ReporterCounters;
  /** The host's `context` option. Without it, the request scope is read. */
  readonly readRequest: (() => RequestContext | undefined) | undefined;
  readonly beforeSend: BeforeSend | undefined;
  /** Whether the event name of an exploit ends with its protection. */
  readonly hasSuffix: boolean;
  /** Whether unknown keys of a context reject its event, and both channels validate also without an output. */
  readonly isStrict: boolean;
}

export class EventPipeline {
  readonly #parts: PipelineParts;
  readonly #plainRoute: Route<DraftMessage>;
  readonly #contexts: SharedContextCache | undefined;
  #isClosed = false;
  #time: { readonly ms: number; readonly iso: string } | undefined;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    this.#plainRoute = {
      write: (event) => parts.log?.write(event),
      buildMessage: (event, override) => buildMessage(event, override, parts.rules),
      complete: (message) => message,
      send: (event, message, receipt) => parts.webhook?.send(event, message, receipt),
    };
    // Not shared if the host may change it (`beforeSend`) or supplies it, or if event names have a suffix,
    // which `serializeWithContextJson` does not accept.
    const isShared = parts.readRequest === undefined && parts.beforeSend === undefined;
    if (isShared && !parts.hasSuffix) this.#contexts = new SharedContextCache(parts.rules.service);
  }

  /** Rejects every later event. */
  close(): void {
    this.#isClosed = true;
  }

  report(call: EventCall): ReportResult {
    const { counters, incidents, log } = this.#parts;
    counters.reported(call.kind);
    // Events caused by our own requests or log lines would loop.
    if (log?.isWriting === true || isOwnWork()) {
      counters.count('ownWork');
      return skipped('own-work');
    }
    let event: ReportedEvent | undefined;
    try {
      if (this.#isClosed) throw new SecurityEventError('ERR_REPORTER_CLOSED', { input: call });
      event = this.#read(call);
    } catch (thrown) {
      return this.#rejectOnBoth(call, thrown);
    }
    if (event === undefined) {
      counters.count('dropped');
      return skipped('dropped');
    }
    return call.kind === 'incident'
      ? this.#reportBy(incidents, event)
      : this.#reportBy(this.#plainRoute, event);
  }

  /** Resolves when the sender has accepted or refused every message so far, and the incident store has finished. */
  async waitForAnswers(): Promise<void> {
    const { incidents, webhook } = this.#parts;
    await Promise.all([incidents.waitForAnswers(), webhook?.waitForAnswers()]);
  }

  #rejectOnBoth(call: EventCall, thrown: unknown): ReportResult {
    const { log, webhook, counters, rejections } = this.#parts;
    const error = wrapHostError(thrown, 'ERR_INVALID_RECORD', { detail: READ_THREW, input: call });
    if (log !== undefined) rejections.add('log', call, error);
    if (webhook === undefined) {
      return { receipt: settledReceipt(counters.skipped('no-webhook')), error };
    }
    rejections.add('webhook', call, error);
    return { receipt: settledReceipt({ outcome: 'rejected', reason: error.code }), error };
  }

  /** Returns undefined when `beforeSend` drops the event. */
  #read(call: EventCall): ReportedEvent | undefined {
    const { rules, clock, enrichment, beforeSend, hasSuffix, isStrict } = this.#parts;
    const given: EventContext = call.context === NO_CONTEXT ? NO_KEYS : ownProperties(call.context);
    if (isStrict) checkContextKeys(call.context, given);
    const scope = this.#parts.readRequest === undefined ? currentScope() : undefined;
    const request = this.#request(scope);
    const payload = recordPayload(call);
    const override = messageOverride(given);
    const { actor, http, detected_at: detectedAt } = given;
    const isShared = actor === undefined && http === undefined;
    const shared = isShared ? this.#contexts?.find(request, scope) : undefined;
    const context = shared ?? contextOfEvent(given, ownProperties(request), enrichment);
    const now = (): string => this.#isoTime(clock.now());
    const { service } = rules;
    const built = buildRecord({ call, detectedAt, context, service, payload, now });
    const changed = beforeSend === undefined ? built : applyBeforeSend(beforeSend, built);
    if (changed === undefined) return undefined;
    const draft = hasSuffix ? withSuffix(changed) : changed;
    if (call.kind === 'playbookTrigger') checkSlug(draft);
    return { call, context: given, draft, shared, override };
  }

  /** Events of the same millisecond share the text. Throws a RangeError for a time that no record can have. */
  #isoTime(ms: number): string {
    if (this.#time?.ms !== ms) this.#time = { ms, iso: new Date(ms).toISOString() };
    return this.#time.iso;
  }

  /** If the host's function throws or returns a promise, the event has no request; NODE_DEBUG prints why. */
  #request(scope: RequestScope | undefined): RequestContext {
    const { readRequest } = this.#parts;
    if (readRequest === undefined) return scope?.context() ?? NO_REQUEST;
    try {
      const known = readRequest();
      ignoreRejection(known);
      if (isPromiseLike(known)) throw new TypeError('expected a context, found a promise');
      return known ?? NO_REQUEST;
    } catch (error) {
      debugError('context', error);
      return NO_REQUEST;
    }
  }

  #reportBy<Message extends { readonly message_id: string }>(
    route: Route<Message>,
    event: ReportedEvent,
  ): ReportResult {
    const written = this.#parts.log === undefined ? this.#check(event) : route.write(event);
    const [record, error] = written instanceof Error ? [undefined, written] : [written, undefined];
    const message = this.#message(route, event);
    if (message instanceof SecurityEventError) {
      const receipt = settledReceipt({ outcome: 'rejected', reason: message.code }, record);
      return { receipt, error: error ?? message };
    }
    if (typeof message === 'string') {
      return { receipt: settledReceipt(this.#parts.counters.skipped(message), record), error };
    }
    const receipt = new EventReceipt(record, message.message_id);
    route.send(event, message, receipt);
    return { receipt, error };
  }

  /** Validates a record that nobody writes: with `strict: true` an invalid event throws also without a log. */
  #check(event: ReportedEvent): SecurityEventError | undefined {
    const { isStrict, validator } = this.#parts;
    if (!isStrict) return undefined;
    try {
      const { draft } = event.call.kind === 'incident' ? withEventType(event, 'create') : event;
      validator.validate(draft);
      return undefined;
    } catch (thrown) {
      return wrapHostError(thrown, 'ERR_INVALID_RECORD');
    }
  }

  /** Returns the message, the reason why there is none, or the error that rejected it. */
  #message<Message extends object>(
    route: Route<Message>,
    event: ReportedEvent,
  ): Message | EventSkipReason | SecurityEventError {
    const { webhook, rejections, isStrict } = this.#parts;
    const { call, context, override } = event;
    const skip = webhook === undefined ? 'no-webhook' : undefined;
    if (skip !== undefined && !isStrict) return skip;
    if (override === false) return skip ?? 'not-wanted';
    try {
      if (override instanceof SecurityEventError) throw override;
      const message = route.buildMessage(event, override);
      if (typeof message === 'string') return skip ?? message;
      checkModule(context);
      if (isStrict) checkMessage(route.complete(message));
      return skip ?? message;
    } catch (thrown) {
      const error = wrapHostError(thrown, 'ERR_INVALID_MESSAGE', { detail: READ_THREW });
      return webhook === undefined ? error : rejections.add('webhook', call, error);
    }
  }
}

/** A getter or a proxy of the caller threw. */
const READ_THREW = 'reading the event threw';

const NO_REQUEST: RequestContext = Object.freeze({});

const NO_KEYS = Object.freeze(ownProperties({}));

/**
 * Returns the record that `beforeSend` returns or has changed, or undefined if it drops the event.
 *
 * @throws SecurityEventError `ERR_BEFORE_SEND_FAILED` if it throws; `ERR_INVALID_RECORD` if it returns no JSON.
 */
function applyBeforeSend(beforeSend: BeforeSend, draft: RecordDraft): RecordDraft | undefined {
  let changed: object | null | undefined;
  try {
    changed = beforeSend(draft) as object | null | undefined;
  } catch (thrown) {
    throw wrapHostError(thrown, 'ERR_BEFORE_SEND_FAILED');
  }
  if (isPromiseLike(changed)) {
    ignoreRejection(changed);
    const detail = '`beforeSend` returned a promise, but must return the record itself';
    throw new SecurityEventError('ERR_INVALID_RECORD', { detail, input: draft });
  }
  if (changed === null) return undefined;
  // If it returns undefined, it may have changed the draft in place.
  return copyRecord(changed ?? draft) as RecordDraft;
}

const skipped = (reason: EventSkipReason): ReportResult => ({
  receipt: settledReceipt({ outcome: 'skipped', reason }),
  error: undefined,
});

/** Copies the overrides before host code runs again. Returns an error if they are not a JSON object. */
function messageOverride({ webhook }: EventContext): MessageOverride | false | SecurityEventError {
  if (webhook === undefined) return NO_KEYS;
  if (webhook === false) return false;
  try {
    const copy = copyJson(webhook);
    if (copy.ok && isObject(copy.value)) return ownProperties(copy.value);
    const issue = copy.ok ? { path: [], message: 'expected false or an object' } : copy;
    const issues = [{ path: ['webhook', ...issue.path], message: issue.message }];
    return new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
  } catch (thrown) {
    return wrapHostError(thrown, 'ERR_INVALID_MESSAGE', { detail: READ_THREW });
  }
}
