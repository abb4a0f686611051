/**
 * The fast path of telling: most events of a request say nothing of who and where, which the request's
 * scope knows, and has known since its first event. So the context is copied, checked and serialised
 * once for a scope, which never changes it, and an event's record is that text with the event's own
 * payload and time beside it. What is not as it should be, or needs a choice, goes the plain way, by
 * event-draft.ts; test/reporter/quick-draft.test.ts holds one against the other.
 *
 * Copying the context for each event, and then reading all of the record, took a third of what an event
 * costs.
 */
import type { RequestContext, RequestScope, ScopeNote } from '../capture/request-scope.ts';
import type { JsonObject } from '../contract/index.ts';
import { inheritedKey } from '../contract/own-keys.ts';
import { type PartsOf, type RecordParts, recordParts } from '../contract/record-parts.ts';
import { ownProperties } from '../own-properties.ts';
import type { Service } from '../projection/security-event.ts';
import { formatTimestamp } from '../webhook/encoder.ts';
import {
  EVENT_NAME,
  type EventCall,
  type KnownContext,
  knownActor,
  QuickDraft,
} from './event-draft.ts';

/** What an event says nothing of. */
export interface QuickSurroundings {
  /** A scope's, which never changes it. */
  readonly request: RequestContext;
  /** Whose it is; `undefined` outside of every request. */
  readonly scope: RequestScope | undefined;
  readonly nowMs: number;
}

interface Known extends KnownContext, ScopeNote {
  /** Nothing where the context is not as it should be. */
  readonly text: string | undefined;
}

/** The last of them serves all events of its millisecond. */
interface DetectionTime {
  readonly ms: number;
  /** Nothing for a time that no record can have. */
  readonly detectedAt: string | undefined;
  readonly occurredAt: string;
}

export class QuickDrafts {
  readonly #service: Service;
  readonly #partsOf: PartsOf = recordParts('strict');
  /** Of what happens in no scope. */
  #outside: Known | undefined;
  #time: DetectionTime | undefined;

  constructor(service: Service) {
    this.#service = service;
  }

  /** Nothing where the plain way has to be gone. `payload` is plain data, and nobody else's. */
  of(
    { kind, context }: EventCall,
    payload: JsonObject,
    around: QuickSurroundings,
  ): QuickDraft | undefined {
    // It would be among what is read by name here, and what is kept would have been read with it.
    if (inheritedKey() !== undefined) return undefined;
    const { actor, http, detected_at } = context;
    if (actor !== undefined || http !== undefined || detected_at !== undefined) return undefined;
    const parts = this.#partsOf(EVENT_NAME[kind]);
    const told = parts?.payload(payload);
    if (parts === undefined || told === undefined) return undefined;
    const known = this.#knownOf(around, parts);
    const time = this.#timeOf(around.nowMs, parts);
    if (known.text === undefined || time.detectedAt === undefined) return undefined;
    const texts = { context: known.text, detected_at: time.detectedAt, payload: told };
    const { occurredAt } = time;
    return new QuickDraft(parts.join(texts), { payload, known, occurredAt });
  }

  #knownOf({ request, scope }: QuickSurroundings, parts: RecordParts): Known {
    const note = scope === undefined ? this.#outside : scope.note;
    // Of another reporter, or of what the context was before.
    if (note?.by === this && note.of === request) return note as Known;
    const { actor, http } = ownProperties(request);
    const text = parts.context({ actor, http, service: this.#service });
    // The address too, if only for a key of its own: a polluted prototype may have one.
    const known: Known = {
      by: this,
      of: request,
      text,
      actor: knownActor(actor),
      address: undefined,
    };
    if (scope === undefined) this.#outside = known;
    else scope.note = known;
    return known;
  }

  #timeOf(ms: number, parts: RecordParts): DetectionTime {
    if (this.#time?.ms === ms) return this.#time;
    const time = {
      ms,
      detectedAt: parts.detected_at(new Date(ms).toISOString()),
      occurredAt: formatTimestamp(ms),
    };
    this.#time = time;
    return time;
  }
}
