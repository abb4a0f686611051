/** The reporter that tells: from a call to plain data, and from there to both channels. */
import type { Enrichment } from '../capture/enrichers.ts';
import { currentScope, type RequestContext, type RequestScope } from '../capture/request-scope.ts';
import type { JsonObject } from '../contract/index.ts';
import { copyJson } from '../contract/json-value.ts';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import type { Clock } from '../runtime/clock.ts';
import { calm } from '../runtime/ignore-rejection.ts';
import { isOwnWork } from '../runtime/untraced.ts';
import { asOurs } from './as-ours.ts';
import type { Channels } from './channels.ts';
import { contextOfEvent } from './event-context.ts';
import {
  draftOf,
  type EventCall,
  type EventOnItsWay,
  NOTHING_SAID,
  payloadOf,
  plainRecord,
  QuickDraft,
  type RecordDraft,
  suffixed,
  tellable,
} from './event-draft.ts';
import type { EventContext, MessageChoice } from './event-input.ts';
import type { IncidentTelling } from './incident-telling.ts';
import { type DraftMessage, type MessageRules, messageFor } from './message-for.ts';
import type { QuickDrafts, QuickSurroundings } from './quick-draft.ts';
import type { QuickMessages } from './quick-message.ts';
import { EventReceipt, type Receipt, type SkippedReason, type Told } from './receipt.ts';
import type { Rejections } from './rejections.ts';
import type { ReporterCounters } from './reporter-stats.ts';

/** Redacts an event, or drops it: see the reporter's options. */
export type BeforeSend =
  | ((record: RecordDraft) => object | null | undefined)
  | ((record: RecordDraft) => void);

export interface ReporterParts {
  readonly rules: MessageRules;
  readonly channels: Channels;
  readonly incidents: IncidentTelling;
  readonly counters: ReporterCounters;
  readonly rejections: Rejections;
  readonly clock: Pick<Clock, 'now'>;
  /** What the host knows of the current request. Absent: what its scope does. */
  readonly request: (() => RequestContext | undefined) | undefined;
  readonly enrichment: Enrichment | undefined;
  readonly beforeSend: BeforeSend | undefined;
  /** Absent where each event has to be looked at as a whole. */
  readonly quick: QuickDrafts | undefined;
  /** Absent where the sender takes none, and without `quick`. */
  readonly quickMessages: QuickMessages | undefined;
  /** For development: what is wrong with a call is thrown at it. */
  readonly isStrict: boolean;
  /** D1 */
  readonly hasSuffix: boolean;
}

export class EventTelling {
  readonly #parts: ReporterParts;
  #isClosed = false;

  constructor(parts: ReporterParts) {
    this.#parts = parts;
  }

  /** What is told from now on is rejected. */
  close(): void {
    this.#isClosed = true;
  }

  tell(call: EventCall): Receipt {
    const { receipt, fault } = this.#told(call);
    if (this.#parts.isStrict && fault !== undefined) throw fault;
    return receipt;
  }

  #told(call: EventCall): Told {
    const { counters, channels, incidents } = this.#parts;
    counters.reported(call.kind);
    // What our own requests cause would go round in circles.
    if (isOwnWork()) {
      counters.count('ownWork');
      return { receipt: skippedReceipt('own-work'), fault: undefined };
    }
    let event: ReadEvent | undefined;
    try {
      if (this.#isClosed) throw new SecurityEventError('ERR_REPORTER_CLOSED', { input: call });
      event = this.#read(call);
    } catch (thrown) {
      // Nothing of it can be told: both channels want what could not be read.
      const fault = channels.refuse(call, thrown);
      return { receipt: rejectedReceipt(fault), fault };
    }
    if (event === undefined) {
      counters.count('dropped');
      return { receipt: skippedReceipt('dropped'), fault: undefined };
    }
    return isIncident(event) ? incidents.tell(event) : this.#tellBoth(event);
  }

  /** `undefined`: `beforeSend` has dropped it. */
  #read(given: EventCall): ReadEvent | undefined {
    const { rules, clock, enrichment, beforeSend, hasSuffix } = this.#parts;
    const call = read(given);
    const around = this.#around(clock.now());
    const { payload, quick } = this.#readQuickly(call, around);
    if (quick !== undefined) return { call, draft: quick, choice: choiceOf(call.context) };
    const context = contextOfEvent(call.context, ownProperties(around.request), enrichment);
    const { service } = rules;
    const draft = draftOf(call, { service, context, nowMs: around.nowMs, payload });
    const choice = choiceOf(call.context);
    const told = beforeSend === undefined ? draft : asked(beforeSend, draft);
    if (told === undefined) return undefined;
    return { call, draft: hasSuffix ? suffixed(told) : told, choice };
  }

  /** The host's own function may be asked, and may throw: then nothing is known. */
  #around(nowMs: number): QuickSurroundings {
    const { request } = this.#parts;
    try {
      if (request === undefined) return aroundIn(currentScope(), nowMs);
      const known = request();
      calm(known);
      return { request: known ?? NOTHING, scope: undefined, nowMs };
    } catch {
      return { request: NOTHING, scope: undefined, nowMs };
    }
  }

  /** The fast path's draft, where it has one, and the payload in any case: it is read once. */
  #readQuickly(
    call: EventCall,
    around: QuickSurroundings,
  ): { readonly payload: unknown; readonly quick: QuickDraft | undefined } {
    const payload = payloadOf(call);
    const { quick } = this.#parts;
    if (quick === undefined || call.kind === 'incident') return { payload, quick: undefined };
    const copy = copyJson(payload);
    if (!copy.ok) return { payload, quick: undefined };
    return { payload: copy.value, quick: quick.of(call, copy.value as JsonObject, around) };
  }

  #tellBoth({ call, draft, choice }: ReadEvent): Told {
    const { channels } = this.#parts;
    const record = channels.write(call, draft);
    const message = this.#message({ call, draft, choice });
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
    const fate = channels.send({ call, draft }, message);
    return { receipt: new EventReceipt(fate, written, message.message_id), fault };
  }

  /** The message, the reason why there is none, or what is wrong with the event. */
  #message({ call, draft, choice }: ReadEvent): DraftMessage | SkippedReason | SecurityEventError {
    const { rules, channels, rejections, quickMessages } = this.#parts;
    if (!channels.hasSink) return 'no-webhook';
    if (choice === false) return 'not-wanted';
    try {
      const isPlain = choice !== NO_CHOICE || !(draft instanceof QuickDraft);
      const quick = isPlain ? undefined : quickMessages?.of(call.kind, draft);
      if (quick !== undefined) return quick;
      return messageFor(tellable(call.kind, draft, choice), rules);
    } catch (thrown) {
      const detail = 'reading the event threw';
      return rejections.add('webhook', call, asOurs(thrown, 'ERR_INVALID_MESSAGE', { detail }));
    }
  }
}

type ReadEvent = EventOnItsWay<RecordDraft | QuickDraft>;

const NOTHING: RequestContext = Object.freeze({});

const aroundIn = (scope: RequestScope | undefined, nowMs: number): QuickSurroundings => ({
  request: scope === undefined ? NOTHING : scope.context(),
  scope,
  nowMs,
});

/** With the own keys of its context. Runs getters, which may throw. */
function read(call: EventCall): EventCall {
  const { kind, payload, given, module } = call;
  return given === NOTHING_SAID
    ? call
    : { kind, payload, given, context: ownProperties(given), module };
}

/** They are never drafted quickly. */
const isIncident = (event: ReadEvent): event is EventOnItsWay => event.call.kind === 'incident';

/**
 * The record as it is to be told; `undefined`: dropped.
 *
 * @throws SecurityEventError `ERR_BEFORE_SEND_FAILED`, or `ERR_INVALID_RECORD` for what it gives.
 */
function asked(beforeSend: BeforeSend, draft: RecordDraft): RecordDraft | undefined {
  let changed: object | null | undefined;
  try {
    changed = beforeSend(draft) as object | null | undefined;
    calm(changed);
  } catch (thrown) {
    throw asOurs(thrown, 'ERR_BEFORE_SEND_FAILED');
  }
  if (changed === null) return undefined;
  // Nothing given: what it has changed in place.
  return plainRecord(changed ?? draft) as RecordDraft;
}

const skippedReceipt = (reason: SkippedReason): Receipt =>
  new EventReceipt({ outcome: 'skipped', reason });

const rejectedReceipt = ({ code: reason }: SecurityEventError): Receipt =>
  new EventReceipt({ outcome: 'rejected', reason });

const NO_CHOICE: MessageChoice = Object.freeze(ownProperties({}));

/** @throws SecurityEventError `ERR_INVALID_MESSAGE`, and what a getter throws. */
function choiceOf({ webhook }: EventContext): MessageChoice | false {
  if (webhook === undefined) return NO_CHOICE;
  if (webhook === false) return false;
  const copy = copyJson(webhook);
  const isObject = copy.ok && typeof copy.value === 'object' && copy.value !== null;
  if (copy.ok && isObject && !Array.isArray(copy.value)) return ownProperties(copy.value);
  const fault = copy.ok ? { path: [], message: 'expected false or an object' } : copy;
  const issues = [{ path: ['webhook', ...fault.path], message: fault.message }];
  throw new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}
