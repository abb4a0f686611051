/** Reports events: builds the record and the message of each, and passes them to both channels. */
import type { Enrichment } from '../capture/enrichment/enrichers.ts';
import {
  currentScope,
  type RequestContext,
  type RequestScope,
} from '../capture/request/request-scope.ts';
import { copyJson } from '../contract/json-value.ts';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import type { Clock } from '../runtime/clock.ts';
import { ignoreRejection } from '../runtime/ignore-rejection.ts';
import { isOwnWork } from '../runtime/untraced.ts';
import { buildMessage, type DraftMessage, type MessageRules } from './build-message.ts';
import {
  buildRecord,
  buildSharedRecord,
  type EventCall,
  EventTime,
  NO_CONTEXT,
  plainRecord,
  type ReadEvent,
  type RecordDraft,
  recordPayload,
  SharedContexts,
  withSuffix,
} from './build-record.ts';
import type { Channels } from './channels.ts';
import { contextOfEvent } from './event-context.ts';
import type { EventContext, MessageOverride } from './event-input.ts';
import type { IncidentPipeline } from './incident-pipeline.ts';
import type { SkippedReason } from './receipt.ts';
import { EventReceipt, type Receipt, type Reported } from './receipt.ts';
import type { Rejections } from './rejections.ts';
import type { ReporterCounters } from './reporter-stats.ts';
import { wrapHostError } from './wrap-host-error.ts';

/** Redacts an event, or drops it: see the reporter's options. */
export type BeforeSend =
  | ((record: RecordDraft) => object | null | undefined)
  | ((record: RecordDraft) => void);

export interface PipelineParts {
  readonly rules: MessageRules;
  readonly channels: Channels;
  readonly incidents: IncidentPipeline;
  readonly counters: ReporterCounters;
  readonly rejections: Rejections;
  readonly clock: Pick<Clock, 'now'>;
  /** The host's `context` option. Absent: the request scope is read. */
  readonly request: (() => RequestContext | undefined) | undefined;
  readonly enrichment: Enrichment | undefined;
  readonly beforeSend: BeforeSend | undefined;
  /** For development: a call throws the error of its event. */
  readonly isStrict: boolean;
  /** Whether the names of exploits end with their protection. */
  readonly hasSuffix: boolean;
}

export class EventPipeline {
  readonly #parts: PipelineParts;
  readonly #contexts: SharedContexts | undefined;
  #isClosed = false;
  #time: EventTime | undefined;

  constructor(parts: PipelineParts) {
    this.#parts = parts;
    // Nothing can be shared if the host may change records or return another context each time.
    const isShared = parts.request === undefined && parts.beforeSend === undefined;
    if (isShared && !parts.hasSuffix) this.#contexts = new SharedContexts(parts.rules.service);
  }

  /** Rejects every later event. */
  close(): void {
    this.#isClosed = true;
  }

  report(call: EventCall): Receipt {
    const { receipt, fault } = this.#report(call);
    if (this.#parts.isStrict && fault !== undefined) throw fault;
    return receipt;
  }

  #report(call: EventCall): Reported {
    const { counters, channels, incidents } = this.#parts;
    counters.reported(call.kind);
    // Events caused by our own requests would loop.
    if (isOwnWork()) {
      counters.count('ownWork');
      return { receipt: skippedReceipt('own-work'), fault: undefined };
    }
    let event: ReadEvent | undefined;
    try {
      if (this.#isClosed) throw new SecurityEventError('ERR_REPORTER_CLOSED', { input: call });
      event = this.#read(call);
    } catch (thrown) {
      const fault = channels.refuse(call, thrown);
      return { receipt: rejectedReceipt(fault), fault };
    }
    if (event === undefined) {
      counters.count('dropped');
      return { receipt: skippedReceipt('dropped'), fault: undefined };
    }
    return call.kind === 'incident' ? incidents.report(event) : this.#reportBoth(event);
  }

  /** Returns undefined when `beforeSend` drops the event. */
  #read(given: EventCall): ReadEvent | undefined {
    const { rules, clock, enrichment, beforeSend, hasSuffix } = this.#parts;
    const call = withOwnContext(given);
    const now = this.#now(clock.now());
    const scope = this.#parts.request === undefined ? currentScope() : undefined;
    const request = this.#request(scope);
    const payload = recordPayload(call);
    const message = messageOverride(call.context);
    const shared = overridesRecord(call.context) ? undefined : this.#contexts?.of(request, scope);
    if (shared !== undefined) {
      const draft = buildSharedRecord({ call, context: shared.value, now, payload });
      if (draft !== undefined) return { call, draft, shared, message };
    }
    const parts = contextOfEvent(call.context, ownProperties(request), enrichment);
    const context = { ...parts, service: rules.service };
    const built = buildRecord({ call, context, now, payload });
    const draft = beforeSend === undefined ? built : redacted(beforeSend, built);
    if (draft === undefined) return undefined;
    return { call, draft: hasSuffix ? withSuffix(draft) : draft, shared: undefined, message };
  }

  #now(ms: number): EventTime {
    if (this.#time?.ms !== ms) this.#time = new EventTime(ms);
    return this.#time;
  }

  /** If the host's function throws, the event has no request. */
  #request(scope: RequestScope | undefined): RequestContext {
    const { request } = this.#parts;
    if (request === undefined) return scope?.context() ?? NO_REQUEST;
    try {
      const known = request();
      ignoreRejection(known);
      return known ?? NO_REQUEST;
    } catch {
      return NO_REQUEST;
    }
  }

  #reportBoth(event: ReadEvent): Reported {
    const { channels } = this.#parts;
    const record = channels.write(event);
    const message = this.#message(event);
    const isWritten = !(record instanceof Error);
    const written = isWritten ? record : undefined;
    const fault = isWritten ? undefined : record;
    if (message instanceof SecurityEventError) {
      const receipt = new EventReceipt({ outcome: 'rejected', reason: message.code }, written);
      return { receipt, fault: fault ?? message };
    }
    if (typeof message === 'string') {
      channels.skipped(message);
      return { receipt: new EventReceipt({ outcome: 'skipped', reason: message }, written), fault };
    }
    const settlement = channels.send(event, message);
    return { receipt: new EventReceipt(settlement, written, message.message_id), fault };
  }

  /** Returns the message, the reason why there is none, or the error. */
  #message(event: ReadEvent): DraftMessage | SkippedReason | SecurityEventError {
    const { rules, channels, rejections } = this.#parts;
    if (!channels.hasSink) return 'no-webhook';
    if (event.message === false) return 'not-wanted';
    try {
      return buildMessage(event, event.message, rules);
    } catch (thrown) {
      const error = wrapHostError(thrown, 'ERR_INVALID_MESSAGE', {
        detail: 'reading the event threw',
      });
      return rejections.add('webhook', event.call, error);
    }
  }
}

const NO_REQUEST: RequestContext = Object.freeze({});

/** Copies the own keys of the context. Runs getters, which may throw. */
const withOwnContext = (call: EventCall): EventCall =>
  call.given === NO_CONTEXT ? call : { ...call, context: ownProperties(call.given) };

const overridesRecord = ({ actor, http, detected_at }: EventContext): boolean =>
  actor !== undefined || http !== undefined || detected_at !== undefined;

/**
 * Returns the record that `beforeSend` returns or has changed, or undefined if it drops the event.
 *
 * @throws SecurityEventError `ERR_BEFORE_SEND_FAILED`, or `ERR_INVALID_RECORD` for what it returns.
 */
function redacted(beforeSend: BeforeSend, draft: RecordDraft): RecordDraft | undefined {
  let changed: object | null | undefined;
  try {
    changed = beforeSend(draft) as object | null | undefined;
    ignoreRejection(changed);
  } catch (thrown) {
    throw wrapHostError(thrown, 'ERR_BEFORE_SEND_FAILED');
  }
  if (changed === null) return undefined;
  // If it returns undefined, it may have changed the draft in place.
  return plainRecord(changed ?? draft) as RecordDraft;
}

const skippedReceipt = (reason: SkippedReason): Receipt =>
  new EventReceipt({ outcome: 'skipped', reason });

const rejectedReceipt = ({ code: reason }: SecurityEventError): Receipt =>
  new EventReceipt({ outcome: 'rejected', reason });

const NO_OVERRIDE: MessageOverride = Object.freeze(ownProperties({}));

/** @throws SecurityEventError `ERR_INVALID_MESSAGE`, and what a getter throws. */
function messageOverride({ webhook }: EventContext): MessageOverride | false {
  if (webhook === undefined) return NO_OVERRIDE;
  if (webhook === false) return false;
  const copy = copyJson(webhook);
  const isObject = copy.ok && typeof copy.value === 'object' && copy.value !== null;
  if (copy.ok && isObject && !Array.isArray(copy.value)) return ownProperties(copy.value);
  const fault = copy.ok ? { path: [], message: 'expected false or an object' } : copy;
  const issues = [{ path: ['webhook', ...fault.path], message: fault.message }];
  throw new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}
