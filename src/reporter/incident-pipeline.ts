/** Reports incidents: the first report on a channel creates the incident, later ones update it. */
import type { Enrichment } from '../capture/enrichment/enrichers.ts';
import type { JsonObject } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type { IncidentChanges, IncidentReport } from '../incident/incident-store.ts';
import { ownProperties } from '../own-properties.ts';
import { incidentMessage } from '../projection/event-messages.ts';
import type { IncidentWords } from '../projection/vocabulary-map.ts';
import type { Clock } from '../runtime/clock.ts';
import { formatTimestamp } from '../webhook/encoder.ts';
import {
  type DraftMessage,
  incidentWordsFor,
  type MessageRules,
  type MessageSource,
  messageSource,
  textIn,
} from './build-message.ts';
import type { ReadEvent } from './build-record.ts';
import type { Channels } from './channels.ts';
import { described } from './event-context.ts';
import { type IncidentReports, storeFailed } from './incident-reports.ts';
import type { Settlement } from './receipt.ts';
import { EventReceipt, MessageSettlement, type Reported } from './receipt.ts';
import type { Rejections } from './rejections.ts';
import {
  nameOfAccount,
  namesIn,
  namesOf,
  type Related,
  type RelatedNames,
  RelatedReader,
} from './related.ts';
import { wrapHostError } from './wrap-host-error.ts';

export interface IncidentParts {
  readonly rules: MessageRules;
  readonly channels: Channels;
  readonly rejections: Rejections;
  readonly reports: IncidentReports;
  readonly enrichment: Enrichment | undefined;
  readonly clock: Pick<Clock, 'now'>;
}

/** The message of an incident, without its new addresses and accounts. */
interface IncidentDraft {
  readonly event: MessageSource;
  readonly words: IncidentWords;
  readonly related: Related;
  /** Names of the addresses and accounts that it may carry. */
  readonly names: RelatedNames;
  readonly messageId: string;
}

interface WrittenIncident {
  record: JsonObject | undefined;
  fault: Error | undefined;
}

interface SentIncident {
  readonly messageId: string | undefined;
  readonly settlement: MessageSettlement | Settlement;
  readonly fault: Error | undefined;
}

const notSent = (settlement: Settlement, fault?: Error): SentIncident => ({
  messageId: undefined,
  settlement,
  fault,
});

export class IncidentPipeline {
  readonly #parts: IncidentParts;
  readonly #related: RelatedReader;

  constructor(parts: IncidentParts) {
    this.#parts = parts;
    this.#related = new RelatedReader((address) => described(address, parts.enrichment));
  }

  report(event: ReadEvent): Reported {
    const { record, fault } = this.#write(event);
    const { messageId, settlement, fault: other } = this.#send(event);
    const receipt = new EventReceipt(settlement, record, messageId);
    return { receipt, fault: fault ?? other };
  }

  /** Returns the record if it was written at once. */
  #write(event: ReadEvent): WrittenIncident {
    const { channels, reports, rejections } = this.#parts;
    const { call, draft } = event;
    const written: WrittenIncident = { record: undefined, fault: undefined };
    // Without a log there is nothing to record in the store.
    if (!channels.hasWriter) return written;
    const write = ({ isFirst }: IncidentChanges): boolean => {
      const { event_type = isFirst ? 'create' : 'update' } = ownProperties(draft.payload);
      // Validation reports a payload that is no object. Spreading a text would give a key per character.
      const payload = isPayload(draft.payload) ? { ...draft.payload, event_type } : draft.payload;
      const record = channels.write({ ...event, draft: { ...draft, payload } });
      if (record instanceof Error) written.fault = record;
      else if (record !== undefined) written.record = record;
      return written.record !== undefined;
    };
    try {
      const later = reports.run(this.#report(event, 'log', NO_NAMES), write);
      if (later === undefined) return written;
      void channels.track(later.catch((error) => rejections.add('log', call, storeFailed(error))));
    } catch (error) {
      written.fault = rejections.add('log', call, storeFailed(error));
    }
    return written;
  }

  #send(event: ReadEvent): SentIncident {
    const { channels, rejections } = this.#parts;
    const { call, message: override } = event;
    if (!channels.hasSink) return notSent(channels.skipped('no-webhook'));
    if (override === false) return notSent(channels.skipped('not-wanted'));
    try {
      const source = messageSource(event, override);
      // Without an id there is no incident to create.
      textIn(source.payload, 'incident_id');
      checkEventType(source.payload);
      const words = incidentWordsFor(source, this.#parts.rules);
      if (words === undefined) return notSent(channels.skipped('no-message-type'));
      const messageId = override.message_id ?? this.#parts.rules.newId();
      const related = this.#related.read(call.payload, source.actor);
      const names = carried(words, related, override.message);
      const message = { event: source, words, related, names, messageId };
      const settlement = new MessageSettlement();
      void this.#sendInOrder(event, message, settlement);
      return { messageId, settlement, fault: undefined };
    } catch (thrown) {
      const detail = 'reading the event threw';
      const error = wrapHostError(thrown, 'ERR_INVALID_MESSAGE', { detail });
      const fault = rejections.add('webhook', call, error);
      return notSent({ outcome: 'rejected', reason: fault.code }, fault);
    }
  }

  /** Never rejects. */
  async #sendInOrder(
    event: ReadEvent,
    draft: IncidentDraft,
    settlement: MessageSettlement,
  ): Promise<void> {
    const { channels, reports, rejections } = this.#parts;
    let sent: MessageSettlement | undefined;
    const send = async (changes: IncidentChanges): Promise<boolean> => {
      sent = channels.send(event, this.#message(draft, changes));
      return sent.accepted;
    };
    try {
      const report = this.#report(event, 'webhook', draft.names);
      await channels.track(reports.runInOrder(report, send));
    } catch (thrown) {
      const { code: reason } = rejections.add('webhook', event.call, storeFailed(thrown));
      if (sent === undefined) settlement.settle({ outcome: 'rejected', reason });
    }
    if (sent !== undefined) await settlement.follow(sent);
  }

  #message(
    { event, words, related, messageId }: IncidentDraft,
    changes: IncidentChanges,
  ): DraftMessage {
    const { override, occurredAt, payload } = event;
    const { service, urlOf, hasUrls } = this.#parts.rules;
    const id = textIn(payload, 'incident_id');
    const isNew = new Set([...changes.newAddresses, ...changes.newAccounts]);
    const { event_type } = ownProperties(payload);
    const isCreated = event_type === undefined ? changes.isFirst : event_type === 'create';
    const message = override.message ?? {
      ...incidentMessage({
        applicationId: service.svc_id,
        incidentId: id,
        status: isCreated ? 'created' : 'updated',
        startedAt: formatTimestamp(changes.startedAt),
        updatedAt: occurredAt,
        newIps: related.ips.filter(({ address }) => isNew.delete(address)),
        newAccounts: related.accounts.filter((account) => isNew.delete(nameOfAccount(account))),
        messageType: words.message_type,
      }),
    };
    // Hints for format v1.
    const v1 = {
      ...(words.pulse_genre === undefined ? {} : { pulse_genre: words.pulse_genre }),
      ...(hasUrls ? { url: urlOf(id) } : {}),
      ...override.v1,
    };
    const hints = Object.keys(v1).length === 0 ? {} : { v1 };
    return { message_id: messageId, message_type: words.message_type, message, ...hints };
  }

  #report(
    { draft }: ReadEvent,
    channel: IncidentReport['channel'],
    names: RelatedNames,
  ): IncidentReport {
    const { rules, clock } = this.#parts;
    const at = Date.parse(draft.detected_at);
    return {
      applicationId: rules.service.svc_id,
      incidentId: JSON.stringify(ownProperties(draft.payload)['incident_id']) ?? '',
      channel,
      at: Number.isNaN(at) ? clock.now() : at,
      ...names,
    };
  }
}

const NO_NAMES: RelatedNames = { addresses: [], accounts: [] };

/** Only account takeovers list accounts. The caller's own message is not changed. */
function carried(
  { message_type }: IncidentWords,
  related: Related,
  message: object | undefined,
): RelatedNames {
  if (message !== undefined) return namesIn(message);
  const names = namesOf(related);
  return message_type === 'account_takeover' ? names : { ...names, accounts: [] };
}

const isPayload = (payload: unknown): boolean => typeof payload === 'object' && payload !== null;

/** A misspelt type would count as `update`. */
function checkEventType(payload: MessageSource['payload']): void {
  const { event_type } = ownProperties(payload);
  if (event_type === undefined || event_type === 'create' || event_type === 'update') return;
  const issues = [{ path: ['payload', 'event_type'], message: 'expected create or update' }];
  throw new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}
