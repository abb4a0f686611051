/** Both channels, each with what may go wrong on it: neither keeps an event from the other. */
import type { JsonObject } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type { RecordText } from '../log/record-check.ts';
import { ownProperties } from '../own-properties.ts';
import { CallPlace } from '../runtime/call-place.ts';
import { calm } from '../runtime/ignore-rejection.ts';
import { asOurs } from './as-ours.ts';
import { type EventCall, type EventOnItsWay, QuickDraft, type RecordDraft } from './event-draft.ts';
import { EventFate, ended, fateOf, type Standing } from './event-fate.ts';
import type { HandOver, Hearer } from './hand-over.ts';
import { InHand } from './in-hand.ts';
import type { DraftMessage } from './message-for.ts';
import type { SentMessage } from './message-sink.ts';
import type { SkippedReason, Written } from './receipt.ts';
import type { CheckRecord, Writer, WriteText } from './record-sink.ts';
import type { Rejections } from './rejections.ts';
import type { ReporterCounters } from './reporter-stats.ts';

export interface ChannelParts {
  readonly check: CheckRecord;
  /** The record as JSON, where it follows the strict dialect and needs no mending. */
  readonly text: RecordText;
  /** Absent: nothing is written. */
  readonly writer: Writer | undefined;
  /** Absent: each record is given to `write` of the writer. */
  readonly writeText: WriteText | undefined;
  /** Absent: nothing is sent. */
  readonly handOver: HandOver | undefined;
  readonly counters: ReporterCounters;
  readonly rejections: Rejections;
}

export class Channels {
  readonly #parts: ChannelParts;
  /** Reports of incidents that are not over. */
  readonly #open = new Set<Promise<unknown>>();
  readonly #inHand = new InHand();

  constructor(parts: ChannelParts) {
    this.#parts = parts;
  }

  /** Gives the record as it was written; an error where it could not be. Never throws. */
  write(call: EventCall, draft: RecordDraft | QuickDraft): Written | Error | undefined {
    const { check, text: textOf, writer, writeText, counters, rejections } = this.#parts;
    if (writer === undefined) return undefined;
    try {
      // Nothing is drafted quickly but for a `writeText`.
      const text = writeText && (draft instanceof QuickDraft ? draft.text : textOf(draft));
      if (writeText !== undefined && text !== undefined) {
        writeTextTo(writeText, text);
        counters.count('written');
        return text;
      }
      const { record, isOutsideStrict } = check(draft);
      writeTo(writer, record);
      counters.count('written');
      if (isOutsideStrict) counters.count('outsideStrict');
      return record;
    } catch (error) {
      return rejections.add('log', call, asOurs(error, 'ERR_INVALID_RECORD', unread(call)));
    }
  }

  get hasWriter(): boolean {
    return this.#parts.writer !== undefined;
  }

  get hasSink(): boolean {
    return this.#parts.handOver !== undefined;
  }

  /** An event that neither channel can be told of. Gives the error as it was told. */
  refuse(call: EventCall, thrown: unknown): SecurityEventError {
    const error = asOurs(thrown, 'ERR_INVALID_RECORD', unread(call));
    if (this.hasWriter) this.#parts.rejections.add('log', call, error);
    if (this.hasSink) this.#parts.rejections.add('webhook', call, error);
    return error;
  }

  send(
    { call, draft }: Pick<EventOnItsWay<RecordDraft | QuickDraft>, 'call' | 'draft'>,
    message: DraftMessage,
  ): EventFate {
    const { handOver } = this.#parts;
    if (handOver === undefined) return fateOf(this.skipped('no-webhook'));
    try {
      this.#inHand.enter();
    } catch (full) {
      return fateOf(this.rejected(call, full));
    }
    const fate = new HandedEvent(this, call);
    handOver.send(message, selectionOf(call, draft), fate);
    return fate;
  }

  /** Of one that was sent: it was accepted, or not to be sent. */
  handed(sent?: SentMessage): void {
    this.#inHand.leave();
    if (sent?.isAccepted === true) this.#parts.counters.count('accepted');
  }

  /** Counted, and handed back: an event that channel B could not be told of. */
  rejected(call: EventCall, thrown: unknown): Standing {
    const error = asOurs(thrown, 'ERR_QUEUE_FAILED', { detail: 'the sender threw' });
    const { code: reason } = this.#parts.rejections.add('webhook', call, error);
    return ended({ outcome: 'rejected', reason });
  }

  /** Counted: an event that is not to be told on channel B. */
  skipped(reason: SkippedReason): Standing {
    this.#parts.counters.skipped(reason);
    return ended({ outcome: 'skipped', reason });
  }

  /** Resolves when everything was handed over that was reported so far. */
  async handedOver(): Promise<void> {
    await Promise.allSettled([...this.#open, this.#parts.handOver?.over()]);
  }

  /** What `handedOver` waits for, too. */
  async track<T>(work: Promise<T>): Promise<T> {
    this.#open.add(work);
    try {
      return await work;
    } finally {
      this.#open.delete(work);
    }
  }
}

function writeTo(writer: Writer, record: JsonObject): void {
  try {
    calm(writer.write(record as never));
  } catch (error) {
    throw asOurs(error, 'ERR_WRITE_FAILED', { input: record });
  }
}

function writeTextTo(writeText: WriteText, text: string): void {
  try {
    writeText(text);
  } catch (error) {
    // Of the reporter's own writer, whose errors have the record already: parsing it costs.
    if (error instanceof SecurityEventError) throw error;
    throw asOurs(error, 'ERR_WRITE_FAILED', { input: JSON.parse(text) });
  }
}

interface Handed {
  readonly channels: Channels;
  readonly call: EventCall;
  readonly place: CallPlace;
}

/** An event on its way to its sender, and what becomes of it there. */
class HandedEvent extends EventFate implements Hearer {
  /** Until it was answered: a receipt that the host keeps leads here, and must not keep its request or reporter. */
  #event: Handed | undefined;

  constructor(channels: Channels, call: EventCall) {
    super();
    this.#event = { channels, call, place: new CallPlace() };
  }

  sent(sent: SentMessage): void {
    const event = this.#event;
    this.#event = undefined;
    if (event === undefined) return;
    event.channels.handed(sent);
    this.tell(sent.isAccepted ? sent : event.channels.skipped(sent.reason));
  }

  /** What is refused is handed back where the event happened. */
  failed(thrown: unknown): void {
    const event = this.#event;
    this.#event = undefined;
    if (event === undefined) return;
    const { channels, call, place } = event;
    channels.handed();
    place.run(() => this.tell(channels.rejected(call, thrown)));
  }
}

/** A getter or a proxy of the caller's may throw anything. */
const unread = (call: EventCall) => ({ detail: 'reading the event threw', input: call });

const NOTHING_SELECTED = Object.freeze(ownProperties({}));

/** D60 */
function selectionOf(
  { kind, context, module: byDefault }: EventCall,
  { payload }: RecordDraft | QuickDraft,
): { readonly module?: string; readonly playbook?: string } {
  const { module = byDefault } = context;
  const slug = kind === 'playbookTrigger' ? ownProperties(payload)['playbook_slug'] : undefined;
  if (module === undefined && slug === undefined) return NOTHING_SELECTED;
  return ownProperties({
    ...(module === undefined ? {} : { module }),
    ...(typeof slug === 'string' ? { playbook: slug } : {}),
  });
}
