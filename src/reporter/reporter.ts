/** The reporter: one method for each kind of event, and reporters derived from it. */
import { FLUSH_RULES } from '../delivery/read-options.ts';
import type { CloseResult, FlushOptions, FlushResult } from '../delivery/sender.ts';
import { check, integer, MAX_TIMER_MS, NON_EMPTY_TEXT } from '../option-rules.ts';
import type { Clock } from '../runtime/clock.ts';
import { cancelWait, onAbort } from '../runtime/on-abort.ts';
import { NO_CONTEXT } from './build-record.ts';
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
import type { LogChannel, LogResult } from './log-channel.ts';
import type { Receipt } from './receipt.ts';
import type { ReporterCounters, ReporterStats } from './reporter-stats.ts';
import { NOTHING_FLUSHED, nothingClosed, type WebhookChannel } from './webhook-channel.ts';

export interface ReporterFlushResult extends FlushResult, LogResult {}
export interface ReporterCloseResult extends CloseResult, LogResult {
  /** Events that were rejected since the reporter was made, by channel. */
  readonly rejected: ReporterStats['rejected'];
}

/**
 * Reports each event as a log record, by default written before the call returns, and, if wanted, as a
 * webhook message. No method that reports an event throws (except with `strict: true`), waits or changes its
 * arguments; rejected events are passed to `onRejected`. These methods need no `this`: `const { attack } = reporter`.
 */
export interface EventReporter {
  /** Reports an attack found by a ruleset: `svc.ev0.threat.attack`, and a `security_event` message. */
  readonly attack: (payload: AttackPayload, context?: EventContext) => Receipt;
  /** Reports an exploit found by a protection: `svc.ev0.threat.vulnerability_exploit`, and a `security_event` message. */
  readonly vulnerabilityExploit: (payload: ExploitPayload, context?: EventContext) => Receipt;
  /** Reports `svc.ev0.incident`, and the message of its type: the first report creates the incident, others update it. */
  readonly incident: (payload: IncidentPayload, context?: EventContext) => Receipt;
  /** Reports `svc.ev0.playbook_trigger`, and a `security_response` message. */
  readonly playbookTrigger: (payload: PlaybookPayload, context?: EventContext) => Receipt;
  /** Reports `svc.ev0.user_event.login`; no message, unless the context has one. */
  readonly userLogin: (payload: UserEventPayload, context?: EventContext) => Receipt;
  /** Reports `svc.ev0.user_event.signup`; no message, unless the context has one. */
  readonly userSignup: (payload: UserEventPayload, context?: EventContext) => Receipt;
  /** Reports `svc.ev0.custom_event`; no message, unless the context has one. */
  readonly customEvent: (name: string, options: CustomOptions, context?: EventContext) => Receipt;
  /**
   * Returns a reporter for one detector: its events carry the module, unless a call names another. It shares
   * channels, counters and settings with this reporter, and is closed with it. Throws `ERR_INVALID_OPTION`.
   */
  with(options: { readonly module: string }): EventReporter;
  /** Resolves to the current counters, including derived reporters. Never rejects. */
  stats(): Promise<ReporterStats>;
  /**
   * Waits until everything reported before the call is written, and settled on channel B. The wait ends
   * after `deadlineMs` (default: none), or when `signal` is aborted; `pending` counts the messages left.
   */
  flush(options?: {
    readonly deadlineMs?: number | undefined;
    readonly signal?: AbortSignal | undefined;
  }): Promise<ReporterFlushResult>;
}

/** Created by `createReporter`. */
export interface Reporter extends EventReporter, AsyncDisposable {
  /**
   * Stops reporting, delivers what it can within `deadlineMs` (default 10000), and closes its writer and
   * sender; the caller's own ones stay open. A stalled log takes up to 5 s more. Idempotent.
   */
  close(options?: { readonly deadlineMs?: number | undefined }): Promise<ReporterCloseResult>;
}

export interface ReporterParts {
  readonly pipeline: Pick<EventPipeline, 'report' | 'waitForAnswers' | 'close'>;
  readonly counters: ReporterCounters;
  readonly log: LogChannel | undefined;
  readonly webhook: WebhookChannel | undefined;
  readonly clock: Clock;
  /** For development: a method throws the error of a rejected event. */
  readonly isStrict: boolean;
}

const DEFAULT_CLOSE_MS = 10_000;

class EventMethods implements EventReporter {
  readonly #parts: ReporterParts;
  readonly #module: string | undefined;

  constructor(parts: ReporterParts, module?: string) {
    this.#parts = parts;
    this.#module = module;
  }

  // Functions of their own, which work without `this`: otherwise a method that is passed on alone would throw.
  readonly attack = this.#method('attack');
  readonly vulnerabilityExploit = this.#method('vulnerabilityExploit');
  readonly incident = this.#method('incident');
  readonly playbookTrigger = this.#method('playbookTrigger');
  readonly userLogin = this.#method('userLogin');
  readonly userSignup = this.#method('userSignup');
  readonly customEvent: EventReporter['customEvent'] = (name, options, context) =>
    this.#report('customEvent', { event_name: name, options }, context);

  #method(kind: EventKind) {
    return (payload: unknown, context?: EventContext): Receipt =>
      this.#report(kind, payload, context);
  }

  #report(kind: EventKind, payload: unknown, context: EventContext = NO_CONTEXT): Receipt {
    const call = { kind, payload, context, module: this.#module };
    const { receipt, error } = this.#parts.pipeline.report(call);
    if (this.#parts.isStrict && error !== undefined) throw error;
    return receipt;
  }

  with(options: { readonly module: string }): EventReporter {
    const { module = this.#module } = check<{ module: string }>(options, {
      module: NON_EMPTY_TEXT,
    });
    return derived(this.#parts, module);
  }

  async stats(): Promise<ReporterStats> {
    return this.#parts.counters.snapshot();
  }

  async flush(options: FlushOptions = {}): Promise<ReporterFlushResult> {
    const { pipeline, webhook, log, clock } = this.#parts;
    const { signal, deadlineMs } = check<FlushOptions>(options, FLUSH_RULES);
    const limit = new AbortController();
    const stopListening = signal && onAbort(signal, () => cancelWait(limit));
    if (deadlineMs !== undefined) {
      void clock.sleep(deadlineMs, limit.signal).then(() => cancelWait(limit));
    }
    const limitReached = new Promise<void>((resolve) => void onAbort(limit.signal, resolve));
    try {
      await Promise.race([pipeline.waitForAnswers(), limitReached]);
      const [messages, records] = await both(
        webhook?.flush(limit.signal) ?? NOTHING_FLUSHED,
        log?.flush(limitReached),
      );
      return { ...messages, ...records };
    } finally {
      stopListening?.();
      cancelWait(limit);
    }
  }
}

/** Like `Promise.all`, but waits for both even if one rejects: a failing queue must not cut off the log. */
async function both<A, B>(...work: readonly [A, B]): Promise<[Awaited<A>, Awaited<B>]> {
  await Promise.allSettled(work);
  return await Promise.all(work);
}

// Outside the class: the bundler renames a class that refers to itself in its own body.
const derived = (parts: ReporterParts, module: string | undefined): EventReporter =>
  new EventMethods(parts, module);

export class ReporterMethods extends EventMethods implements Reporter {
  readonly #parts: ReporterParts;
  #closing: Promise<ReporterCloseResult> | undefined;

  constructor(parts: ReporterParts) {
    super(parts);
    this.#parts = parts;
  }

  /** Not async, so that all calls return the same promise. An invalid deadline gets its own, rejected promise. */
  close(options: { readonly deadlineMs?: number } = {}): Promise<ReporterCloseResult> {
    try {
      const { deadlineMs = DEFAULT_CLOSE_MS } = check<{ deadlineMs: number }>(options, {
        deadlineMs: integer(0, MAX_TIMER_MS),
      });
      this.#closing ??= this.#close(deadlineMs);
      return this.#closing;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async #close(deadlineMs: number): Promise<ReporterCloseResult> {
    const { pipeline, counters, webhook, log, clock } = this.#parts;
    const untilMs = clock.monotonicMs() + deadlineMs;
    pipeline.close();
    const closed = new AbortController();
    await Promise.race([pipeline.waitForAnswers(), clock.sleep(deadlineMs, closed.signal)]);
    const leftMs = Math.max(0, Math.floor(untilMs - clock.monotonicMs()));
    const [messages, records] = await both(
      webhook?.close(leftMs) ?? nothingClosed(),
      log?.close(clock.sleep(leftMs, closed.signal)),
    ).finally(() => closed.abort());
    return { ...messages, ...records, rejected: counters.snapshot().rejected };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
