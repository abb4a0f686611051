/** Writes and sends events. A failure on one channel never affects the other. */
import type { JsonObject } from '../contract/index.ts';
import type { SecurityEventError } from '../errors.ts';
import { writeFailed } from '../log/write-counters.ts';
import { ownProperties } from '../own-properties.ts';
import { CallPlace } from '../runtime/call-place.ts';
import { ignoreRejection } from '../runtime/ignore-rejection.ts';
import type { DraftMessage } from './build-message.ts';
import type { EventCall, ReadEvent } from './build-record.ts';
import { InFlightLimit } from './in-flight-limit.ts';
import type { LogOutput } from './log-channel.ts';
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
  readonly log: LogOutput | undefined;
  /** Absent: no messages are sent. */
  readonly batcher: SendBatcher | undefined;
  readonly counters: ReporterCounters;
  readonly rejections: Rejections;
}

export class Channels {
  readonly #parts: ChannelParts;
  /** Reports of incidents in progress. */
  readonly #open = new Set<Promise<unknown>>();
  readonly #inFlight = new InFlightLimit();

  constructor(parts: ChannelParts) {
    this.#parts = parts;
  }

  /** Returns the written record, or the error. Never throws. */
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

  /** The host's own writer gets a copy, since it may change records. */
  #write(event: ReadEvent, log: LogOutput) {
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

  /** Rejects an event whose line was lost after `write` had returned. */
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

  /** Must be called when the sender has accepted, skipped or refused a message. */
  answered(sent?: SentMessage): void {
    this.#inFlight.leave();
    if (sent?.isAccepted === true) this.#parts.counters.count('accepted');
  }

  /** Counts a message that cannot be sent, and calls `onRejected`. */
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

  /** Resolves when the sender has answered for everything reported so far. */
  async handedOver(): Promise<void> {
    await Promise.allSettled([...this.#open, this.#parts.batcher?.over()]);
  }

  /** Makes `handedOver` wait for `work`. */
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

/** A message that the sender has not accepted yet. */
class PendingMessage extends MessageSettlement implements SendListener {
  /** Cleared when the sender answers: the host may keep the receipt, but must not keep request and reporter. */
  #origin: Origin | undefined;

  constructor(channels: Channels, call: EventCall) {
    super();
    this.#origin = { channels, call, place: new CallPlace() };
  }

  sent(sent: SentMessage): void {
    const origin = this.#origin;
    this.#origin = undefined;
    if (origin === undefined) return;
    origin.channels.answered(sent);
    if (sent.isAccepted) this.settle(sent);
    else this.settle(origin.channels.skipped(sent.reason));
  }

  /** Calls `onRejected` in the async context of the event. */
  failed(thrown: unknown): void {
    const origin = this.#origin;
    this.#origin = undefined;
    if (origin === undefined) return;
    const { channels, call, place } = origin;
    channels.answered();
    place.run(() => this.settle(channels.rejected(call, thrown)));
  }
}

/** A getter or a proxy of the caller threw. */
const unread = (call: EventCall) => ({ detail: 'reading the event threw', input: call });

const NOTHING_SELECTED = Object.freeze(ownProperties({}));

/** Applications choose by module and playbook which messages they get. */
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
