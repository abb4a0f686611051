/** Reports incidents: the first report on a channel creates the incident, later ones update it. */

import type { Enrichment } from '../capture/enrichment/enrichers.ts';
import { isObject } from '../contract/dispatch.ts';
import type { JsonObject } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type {
  IncidentChanges,
  IncidentChannel,
  IncidentReport,
} from '../incident/incident-store.ts';
import { ownProperties } from '../own-properties.ts';
import {
  type EventData,
  incidentMessage,
  listsAccounts,
  requiredText,
} from '../projection/event-messages.ts';
import type { IncidentTerms } from '../projection/vocabulary-map.ts';
import { CallsInProgress } from '../runtime/calls-in-progress.ts';
import type { Clock } from '../runtime/clock.ts';
import { formatTimestamp } from '../webhook/encoder.ts';
import {
  type DraftMessage,
  eventData,
  incidentTermsFor,
  type MessageRules,
  type NoMessageReason,
} from './build-message.ts';
import type { ReportedEvent } from './build-record.ts';
import type { MessageOverride } from './event-input.ts';
import type { IncidentReports } from './incident-reports.ts';
import type { LogChannel } from './log-channel.ts';
import type { EventReceipt } from './receipt.ts';
import type { Rejections } from './rejections.ts';
import {
  accountKey,
  keysInMessage,
  keysOf,
  type Related,
  type RelatedKeys,
  readRelated,
} from './related.ts';
import type { WebhookChannel } from './webhook-channel.ts';
import { wrapHostError } from './wrap-host-error.ts';

export interface IncidentParts {
  readonly rules: MessageRules;
  readonly log: LogChannel | undefined;
  readonly webhook: WebhookChannel | undefined;
  readonly rejections: Rejections;
  readonly reports: IncidentReports;
  readonly enrichment: Enrichment | undefined;
  readonly clock: Pick<Clock, 'now'>;
}

/** An incomplete message: the incident store supplies its status, new addresses and new accounts. */
interface IncidentDraft {
  readonly message_id: string;
  readonly data: EventData;
  readonly override: MessageOverride;
  readonly terms: IncidentTerms;
  readonly related: Related;
  /** Keys of the addresses and accounts that the message may carry. */
  readonly keys: RelatedKeys;
}

export class IncidentPipeline {
  readonly #parts: IncidentParts;
  readonly #inProgress = new CallsInProgress();

  constructor(parts: IncidentParts) {
    this.#parts = parts;
  }

  /** Returns the record, the error that rejected it, or undefined if it is written later, or never. */
  write(event: ReportedEvent): JsonObject | SecurityEventError | undefined {
    const { log, reports, rejections } = this.#parts;
    // Without a log there is nothing to record in the store.
    if (log === undefined) return undefined;
    let written: JsonObject | SecurityEventError | undefined;
    const write = ({ isFirst }: IncidentChanges): boolean => {
      written = log.write(withEventType(event, isFirst ? 'create' : 'update'));
      return !(written instanceof Error);
    };
    const reject = (error: unknown): SecurityEventError =>
      rejections.add('log', event.call, storeFailed(error));
    try {
      const later = reports.report(this.#storeEntry(event, 'log', NO_KEYS), write);
      if (later !== undefined) void this.#track(later.catch(reject));
      return written;
    } catch (error) {
      const rejection = reject(error);
      return written instanceof Error ? written : rejection;
    }
  }

  buildMessage(event: ReportedEvent, override: MessageOverride): IncidentDraft | NoMessageReason {
    const { rules, enrichment } = this.#parts;
    const data = eventData(event, rules.service);
    // Without an id there is no incident to create.
    requiredText(data, 'incident_id');
    checkEventType(data.payload);
    const terms = incidentTermsFor(data, override, rules);
    if (terms === undefined) return 'no-message-type';
    const message_id = override.message_id ?? rules.newId();
    const related = readRelated(event.call.payload, data.actor, enrichment);
    const keys = keysToCarry(terms, related, override.message);
    return { message_id, data, override, terms, related, keys };
  }

  /** Returns the message that the incident would have if all of it were new. */
  complete(draft: IncidentDraft): DraftMessage {
    const { addresses: newAddresses, accounts: newAccounts } = draft.keys;
    const startedAt = this.#parts.clock.now();
    return this.#message(draft, { isFirst: true, startedAt, newAddresses, newAccounts });
  }

  send(event: ReportedEvent, draft: IncidentDraft, receipt: EventReceipt): void {
    void this.#track(this.#sendInOrder(event, draft, receipt));
  }

  /** Never rejects. */
  async #sendInOrder(
    event: ReportedEvent,
    draft: IncidentDraft,
    receipt: EventReceipt,
  ): Promise<void> {
    const { webhook, reports } = this.#parts;
    if (webhook === undefined) return;
    let isSent = false;
    const send = async (changes: IncidentChanges): Promise<boolean> => {
      const message = this.#message(draft, changes);
      isSent = true;
      webhook.send(event, message, receipt);
      return receipt.accepted;
    };
    try {
      const entry = this.#storeEntry(event, 'webhook', draft.keys);
      await reports.reportInOrder(entry, send);
    } catch (thrown) {
      const result = webhook.reject(event.call, storeFailed(thrown));
      if (!isSent) receipt.settle(result);
    }
  }

  async #track(work: Promise<unknown>): Promise<void> {
    const call = this.#inProgress.begin();
    await work;
    this.#inProgress.end(call);
  }

  /** Resolves when every incident so far is written, and the sender has accepted or refused its message. */
  waitForAnswers(): Promise<void> {
    return this.#inProgress.waitForAll();
  }

  #message(draft: IncidentDraft, changes: IncidentChanges): DraftMessage {
    const { message_id, data, override, terms, related } = draft;
    const { urlOf, hasUrls } = this.#parts.rules;
    const { message_type } = terms;
    const newKeys = new Set([...changes.newAddresses, ...changes.newAccounts]);
    const { event_type } = ownProperties(data.payload);
    const message =
      override.message ??
      incidentMessage(data, {
        messageType: message_type,
        isCreated: event_type === undefined ? changes.isFirst : event_type === 'create',
        startedAt: formatTimestamp(changes.startedAt),
        newIps: related.ips.filter(({ address }) => newKeys.has(address)),
        newAccounts: related.accounts.filter((account) => newKeys.has(accountKey(account))),
      });
    // Hints for format 1.
    const v1 = {
      ...(terms.pulse_genre === undefined ? {} : { pulse_genre: terms.pulse_genre }),
      ...(hasUrls ? { url: urlOf(requiredText(data, 'incident_id')) } : {}),
      ...override.v1,
    };
    return { message_id, message_type, message, ...(Object.keys(v1).length === 0 ? {} : { v1 }) };
  }

  /** Returns what the incident store records. */
  #storeEntry(
    { draft }: ReportedEvent,
    channel: IncidentChannel,
    keys: RelatedKeys,
  ): IncidentReport {
    const { rules, clock } = this.#parts;
    const at = Date.parse(draft.detected_at);
    const id = ownProperties(draft.payload)['incident_id'];
    return {
      applicationId: rules.service.svc_id,
      // The id is not validated yet. If it is not a string, the report is refused and retracted.
      incidentId: typeof id === 'string' ? id : (JSON.stringify(id) ?? ''),
      channel,
      at: Number.isNaN(at) ? clock.now() : at,
      ...keys,
    };
  }
}

const storeFailed = (thrown: unknown): SecurityEventError =>
  wrapHostError(thrown, 'ERR_QUEUE_FAILED', { detail: 'the incident store failed' });

const NO_KEYS: RelatedKeys = { addresses: [], accounts: [] };

/** Sets the event type, unless the caller did. Validation reports a payload that is not an object. */
export function withEventType(event: ReportedEvent, type: 'create' | 'update'): ReportedEvent {
  const { payload } = event.draft;
  if (!isObject(payload)) return event;
  const { event_type = type } = ownProperties(payload);
  return { ...event, draft: { ...event.draft, payload: { ...payload, event_type } } };
}

/** Returns the keys in the caller's own message, if there is one; otherwise those that the message type may carry. */
function keysToCarry(
  { message_type }: IncidentTerms,
  related: Related,
  message: object | undefined,
): RelatedKeys {
  if (message !== undefined) return keysInMessage(message);
  const keys = keysOf(related);
  return listsAccounts(message_type) ? keys : { ...keys, accounts: [] };
}

/** A misspelled type would count as `update`. */
function checkEventType(payload: EventData['payload']): void {
  const { event_type } = ownProperties(payload);
  if (event_type === undefined || event_type === 'create' || event_type === 'update') return;
  const issues = [{ path: ['payload', 'event_type'], message: 'expected create or update' }];
  throw new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}
