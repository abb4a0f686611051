/** Both channels. A failure on one never keeps an event from the other. */
import type { JsonObject } from '../contract/index.ts';
import type { SecurityEventError } from '../errors.ts';
import { writeFailed } from '../log/write-counters.ts';
import { ownProperties } from '../own-properties.ts';
import { CallPlace } from '../runtime/call-place.ts';
import { ignoreRejection } from '../runtime/ignore-rejection.ts';
import type { DraftMessage } from './build-message.ts';
import type { EventCall, ReadEvent } from './build-record.ts';
import { InFlightLimit } from './in-flight-limit.ts';
import type { HeldWriter } from './log-end.ts';
import type { SentMessage } from './message-sink.ts';
import type { Settlement, SkippedReason } from './receipt.ts';
import { MessageSettlement, settledWith } from './receipt.ts';
import type { Rejections } from './rejections.ts';
import type { ReporterCounters } from './reporter-stats.ts';
import type { SendBatcher, SendListener } from './send-batcher.ts';
import type { RecordValidator } from './validate-record.ts';
import { wrapHostError } from './wrap-host-error.ts';

export interface ChannelParts {
  readonly validator: RecordValidator;
  /** Absent: no records are written. */
  readonly log: HeldWriter | undefined;
  /** Absent: no messages are sent. */
  readonly batcher: SendBatcher | undefined;
  readonly counters: ReporterCounters;
  readonly rejections: Rejections;
}

export class Channels {
  readonly #parts: ChannelParts;
  /** Reports of incidents that are not over. */
  readonly #open = new Set<Promise<unknown>>();
  readonly #inFlight = new InFlightLimit();

  constructor(parts: ChannelParts) {
    this.#parts = parts;
  }

  /** Returns the record as it was written, or the error where it could not be. Never throws. */
  write(event: ReadEvent): JsonObject | Error | undefined {
    const { log, counters, rejections } = this.#parts;
    if (log === undefined) return undefined;
    try {
      const { record, isOutsideStrict } = this.#write(event, log);
      counters.count('written');
      if (isOutsideStrict) counters.count('outsideStrict');
      return record;
    } catch (error) {
      const { call } = event;
      return rejections.add('log', call, wrapHostError(error, 'ERR_INVALID_RECORD', unread(call)));
    }
  }

  /** A writer of the host's may change records, to redact them for one: it gets a copy of each. */
  #write(event: ReadEvent, log: HeldWriter) {
    const { draft, shared } = event;
    const { own, writer } = log;
    const { validator } = this.#parts;
    if (own !== undefined) {
      const serialized = validator.serialize(draft, shared);
      own.writeLine(
        serialized.json,
        serialized.record,
        log.writesLater ? this.#lost(event) : undefined,
      );
      return serialized;
    }
    const valid = validator.validate(draft);
    try {
      ignoreRejection(writer.write(valid.record as never));
    } catch (error) {
      throw wrapHostError(error, 'ERR_WRITE_FAILED', { input: valid.record });
    }
    return valid;
  }

  /** Hands back an event whose line was lost after `write` had returned. */
  #lost({ call, draft }: ReadEvent): (cause: unknown) => void {
    const { counters, rejections } = this.#parts;
    return (cause) => {
      counters.lost();
      rejections.add('log', call, writeFailed(cause, draft));
    };
  }

  get hasWriter(): boolean {
    return this.#parts.log !== undefined;
  }

  get hasSink(): boolean {
    return this.#parts.batcher !== undefined;
  }

  /** Rejects an event on both channels. Returns the error as it was reported. */
  refuse(call: EventCall, thrown: unknown): SecurityEventError {
    const error = wrapHostError(thrown, 'ERR_INVALID_RECORD', unread(call));
    if (this.hasWriter) this.#parts.rejections.add('log', call, error);
    if (this.hasSink) this.#parts.rejections.add('webhook', call, error);
    return error;
  }

  send(event: ReadEvent, message: DraftMessage): MessageSettlement {
    const { batcher } = this.#parts;
    if (batcher === undefined) return settledWith(this.skipped('no-webhook'));
    try {
      this.#inFlight.enter();
    } catch (full) {
      return settledWith(this.rejected(event.call, full));
    }
    const pending = new PendingMessage(this, event.call);
    batcher.send(message, selectionOf(event), pending);
    return pending;
  }

  /** Ends the way of a message to the sender. */
  arrived(sent?: SentMessage): void {
    this.#inFlight.leave();
    if (sent?.isAccepted === true) this.#parts.counters.count('accepted');
  }

  /** Counts a message that cannot be sent, and hands it back. */
  rejected(call: EventCall, thrown: unknown): Settlement {
    const error = wrapHostError(thrown, 'ERR_QUEUE_FAILED', { detail: 'the sender threw' });
    const { code: reason } = this.#parts.rejections.add('webhook', call, error);
    return { outcome: 'rejected', reason };
  }

  /** Counts an event that is not sent on channel B. */
  skipped(reason: SkippedReason): Settlement {
    this.#parts.counters.skipped(reason);
    return { outcome: 'skipped', reason };
  }

  /** Resolves when everything was handed over that was reported so far. */
  async handedOver(): Promise<void> {
    await Promise.allSettled([...this.#open, this.#parts.batcher?.over()]);
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

interface Origin {
  readonly channels: Channels;
  readonly call: EventCall;
  readonly place: CallPlace;
}

/** A message on its way to the sender. */
class PendingMessage extends MessageSettlement implements SendListener {
  /** Until the sender answers: a receipt that the host keeps leads here, and must not keep its request or reporter. */
  #origin: Origin | undefined;

  constructor(channels: Channels, call: EventCall) {
    super();
    this.#origin = { channels, call, place: new CallPlace() };
  }

  sent(sent: SentMessage): void {
    const origin = this.#origin;
    this.#origin = undefined;
    if (origin === undefined) return;
    origin.channels.arrived(sent);
    if (sent.isAccepted) this.settle(sent);
    else this.settle(origin.channels.skipped(sent.reason));
  }

  /** What is refused is handed back where the event happened. */
  failed(thrown: unknown): void {
    const origin = this.#origin;
    this.#origin = undefined;
    if (origin === undefined) return;
    const { channels, call, place } = origin;
    channels.arrived();
    place.run(() => this.settle(channels.rejected(call, thrown)));
  }
}

/** A getter or a proxy of the caller's may throw anything. */
const unread = (call: EventCall) => ({ detail: 'reading the event threw', input: call });

const NOTHING_SELECTED = Object.freeze(ownProperties({}));

/** D60 */
function selectionOf({ call, draft }: ReadEvent): {
  readonly module?: string;
  readonly playbook?: string;
} {
  const { module = call.module } = call.context;
  const slug =
    call.kind === 'playbookTrigger' ? ownProperties(draft.payload)['playbook_slug'] : undefined;
  if (module === undefined && slug === undefined) return NOTHING_SELECTED;
  return ownProperties({
    ...(module === undefined ? {} : { module }),
    ...(typeof slug === 'string' ? { playbook: slug } : {}),
  });
}
