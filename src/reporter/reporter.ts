/** A reporter: one method for each kind of event, and the reporters derived from it. */
import { FLUSH_RULES, type FlushOptions } from '../delivery/read-options.ts';
import type { CloseResult, FlushResult } from '../delivery/sender.ts';
import { check, integer, MAX_TIMER_MS, usable } from '../option-rules.ts';
import type { Clock } from '../runtime/clock.ts';
import { cancelWait, onAbort } from '../runtime/on-abort.ts';
import { NO_CONTEXT, NO_OWN_CONTEXT } from './build-record.ts';
import type { Channels } from './channels.ts';
import type {
  AttackPayload,
  CustomOptions,
  EventContext,
  EventKind,
  ExploitPayload,
  IncidentPayload,
  PlaybookPayload,
  UserEventPayload,
} from './event-input.ts';
import type { EventPipeline } from './event-pipeline.ts';
import type { LogEnd, LogTrouble } from './log-end.ts';
import { type MessageSink, NO_RESULTS, NOTHING_FLUSHED } from './message-sink.ts';
import type { Receipt } from './receipt.ts';
import type { ReporterCounters, ReporterStats } from './reporter-stats.ts';

export interface ReporterFlushResult extends FlushResult, LogTrouble {}
export interface ReporterCloseResult extends CloseResult, LogTrouble {}

/**
 * Reports each event as a log record, written before the call returns, and, if wanted, as
 * a webhook message, handed to the sender. No method that reports an event throws (except with
 * `strict: true`), waits or changes its arguments; a rejected event goes to `onRejected`.
 */
export interface EventReporter {
  /** An attack that a ruleset has found: `svc.ev0.threat.attack`; on channel B a `security_event`. */
  attack(payload: AttackPayload, context?: EventContext): Receipt;
  /** An exploit that a protection has found: `svc.ev0.threat.vulnerability_exploit`; likewise. */
  vulnerabilityExploit(payload: ExploitPayload, context?: EventContext): Receipt;
  /** `svc.ev0.incident`; on channel B the message of its type (D48). Created once, then updated (D50). */
  incident(payload: IncidentPayload, context?: EventContext): Receipt;
  /** `svc.ev0.playbook_trigger`; on channel B a `security_response`. */
  playbookTrigger(payload: PlaybookPayload, context?: EventContext): Receipt;
  /** `svc.ev0.user_event.login`: on channel A alone, unless the context gives a message. */
  userLogin(payload: UserEventPayload, context?: EventContext): Receipt;
  /** `svc.ev0.user_event.signup`, likewise. */
  userSignup(payload: UserEventPayload, context?: EventContext): Receipt;
  /** `svc.ev0.custom_event` with the name and options, likewise. */
  customEvent(name: string, options: CustomOptions, context?: EventContext): Receipt;
  /**
   * Returns a reporter for one detector: its events carry the module, unless a call names another. It shares
   * channels, counters and settings with this reporter, and is closed with it. Throws `ERR_INVALID_OPTION`.
   */
  with(options: { readonly module: string }): EventReporter;
  /** The counters as they are now, of derived reporters too. */
  stats(): ReporterStats;
  /**
   * Waits until everything reported before the call is written, and settled on channel B. The wait ends
   * after `deadlineMs` (default: none), or when `signal` is aborted; `pending` counts the messages left.
   */
  flush(options?: {
    readonly deadlineMs?: number | undefined;
    readonly signal?: AbortSignal | undefined;
  }): Promise<ReporterFlushResult>;
}

/** What `createReporter` makes. */
export interface Reporter extends EventReporter, AsyncDisposable {
  /**
   * Stops reporting, delivers what it can within `deadlineMs` (default 10000), and lets go of the
   * writer and the sender that it has made; those that it was given stay open. Idempotent.
   */
  close(options?: { readonly deadlineMs?: number }): Promise<ReporterCloseResult>;
}

export interface ReporterParts {
  readonly pipeline: EventPipeline;
  readonly channels: Channels;
  readonly counters: ReporterCounters;
  readonly logEnd: LogEnd;
  readonly sink: MessageSink | undefined;
  readonly clock: Clock;
}

const DEFAULT_CLOSE_MS = 10_000;

const MODULE = usable('a non-empty string', (value) => typeof value === 'string' && value !== '');

class EventMethods implements EventReporter {
  readonly #parts: ReporterParts;
  readonly #module: string | undefined;

  constructor(parts: ReporterParts, module?: string) {
    this.#parts = parts;
    this.#module = module;
  }

  attack(payload: AttackPayload, context?: EventContext): Receipt {
    return this.#report('attack', payload, context);
  }

  vulnerabilityExploit(payload: ExploitPayload, context?: EventContext): Receipt {
    return this.#report('vulnerabilityExploit', payload, context);
  }

  incident(payload: IncidentPayload, context?: EventContext): Receipt {
    return this.#report('incident', payload, context);
  }

  playbookTrigger(payload: PlaybookPayload, context?: EventContext): Receipt {
    return this.#report('playbookTrigger', payload, context);
  }

  userLogin(payload: UserEventPayload, context?: EventContext): Receipt {
    return this.#report('userLogin', payload, context);
  }

  userSignup(payload: UserEventPayload, context?: EventContext): Receipt {
    return this.#report('userSignup', payload, context);
  }

  customEvent(name: string, options: CustomOptions, context?: EventContext): Receipt {
    return this.#report('customEvent', { event_name: name, options }, context);
  }

  #report(kind: EventKind, payload: unknown, given: EventContext = NO_CONTEXT): Receipt {
    const call = { kind, payload, given, context: NO_OWN_CONTEXT, module: this.#module };
    return this.#parts.pipeline.report(call);
  }

  with(options: { readonly module: string }): EventReporter {
    const { module = this.#module } = check<{ module: string }>(options, { module: MODULE });
    return derived(this.#parts, module);
  }

  stats(): ReporterStats {
    return this.#parts.counters.snapshot();
  }

  async flush(options: FlushOptions = {}): Promise<ReporterFlushResult> {
    const { channels, sink, logEnd, clock } = this.#parts;
    const { signal, deadlineMs } = check<FlushOptions>(options, FLUSH_RULES);
    const limit = new AbortController();
    const stopListening = signal === undefined ? () => {} : onAbort(signal, () => cancelWait(limit));
    if (deadlineMs !== undefined) {
      void clock.sleep(deadlineMs, limit.signal).then(() => cancelWait(limit));
    }
    const end = signal === undefined && deadlineMs === undefined ? undefined : limit.signal;
    try {
      await untilAborted(channels.handedOver(), end);
      const flushed = sink?.flush(end) ?? NOTHING_FLUSHED;
      const [result, trouble] = await Promise.all([flushed, logEnd.flush()]);
      return { ...result, ...trouble };
    } finally {
      stopListening();
      cancelWait(limit);
    }
  }
}

// Beside the class: one that names itself in its own body would have another name in the joined files.
const derived = (parts: ReporterParts, module: string | undefined): EventReporter =>
  new EventMethods(parts, module);

export class ReporterMethods extends EventMethods implements Reporter {
  readonly #parts: ReporterParts;
  #closing: Promise<ReporterCloseResult> | undefined;

  constructor(parts: ReporterParts) {
    super(parts);
    this.#parts = parts;
  }

  /** Not async: its callers share one promise, except one with an invalid deadline. */
  close(options: { readonly deadlineMs?: number } = {}): Promise<ReporterCloseResult> {
    try {
      const given = check<{ deadlineMs: number }>(options, {
        deadlineMs: integer(0, MAX_TIMER_MS),
      });
      this.#closing ??= this.#close(given.deadlineMs ?? DEFAULT_CLOSE_MS);
      return this.#closing;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #close(deadlineMs: number): Promise<ReporterCloseResult> {
    const { pipeline, channels, sink, logEnd, clock } = this.#parts;
    const untilMs = clock.monotonicMs() + deadlineMs;
    pipeline.close();
    const waited = new AbortController();
    await Promise.race([channels.handedOver(), clock.sleep(deadlineMs, waited.signal)]);
    waited.abort();
    const leftMs = Math.max(0, Math.floor(untilMs - clock.monotonicMs()));
    const [result, trouble] = await Promise.all([
      sink?.close(leftMs) ?? { ...NO_RESULTS, returned: [], left: 0 },
      logEnd.close(),
    ]);
    return { ...result, ...trouble };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Resolves with `work`, or when the signal is aborted. */
async function untilAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return work;
  const stopListening: (() => void)[] = [];
  const abort = new Promise<void>((resolve) => {
    stopListening.push(onAbort(signal, resolve));
  });
  await Promise.race([work, abort]);
  for (const one of stopListening) one();
}
