/** The methods of a reporter, and its end. */
import { SecurityEventError } from '../errors.ts';
import { check, integer, MAX_TIMER_MS, SIGNAL } from '../option-rules.ts';
import type { Clock } from '../system/clock.ts';
import { onAbort } from '../system/on-abort.ts';
import type { Channels } from './channels.ts';
import type {
  AttackPayload,
  CustomOptions,
  EventContext,
  ExploitPayload,
  IncidentPayload,
  PlaybookPayload,
  UserEventPayload,
} from './event-input.ts';
import type { EventTelling } from './event-reporter.ts';
import { type MessageSink, NO_FATES } from './message-sink.ts';
import type { Receipt } from './receipt.ts';
import type { HeldWriter } from './record-sink.ts';
import type { Reporter, ReporterCloseResult, ReporterFlushResult } from './reporter.ts';
import type { ReporterCounters, ReporterStats } from './reporter-stats.ts';

export interface FaceParts {
  readonly telling: EventTelling;
  readonly channels: Channels;
  readonly counters: ReporterCounters;
  readonly held: HeldWriter | undefined;
  readonly sink: MessageSink | undefined;
  readonly clock: Clock;
}

const DEFAULT_CLOSE_MS = 10_000;

export class ReporterFace implements Reporter {
  readonly #parts: FaceParts;
  #closing: Promise<ReporterCloseResult> | undefined;

  constructor(parts: FaceParts) {
    this.#parts = parts;
  }

  attack(payload: AttackPayload, context?: EventContext): Receipt {
    return this.#parts.telling.tell('attack', payload, context);
  }

  vulnerabilityExploit(payload: ExploitPayload, context?: EventContext): Receipt {
    return this.#parts.telling.tell('vulnerabilityExploit', payload, context);
  }

  incident(payload: IncidentPayload, context?: EventContext): Receipt {
    return this.#parts.telling.tell('incident', payload, context);
  }

  playbookTrigger(payload: PlaybookPayload, context?: EventContext): Receipt {
    return this.#parts.telling.tell('playbookTrigger', payload, context);
  }

  userLogin(payload: UserEventPayload, context?: EventContext): Receipt {
    return this.#parts.telling.tell('userLogin', payload, context);
  }

  userSignup(payload: UserEventPayload, context?: EventContext): Receipt {
    return this.#parts.telling.tell('userSignup', payload, context);
  }

  customEvent(name: string, options: CustomOptions, context?: EventContext): Receipt {
    return this.#parts.telling.tell('customEvent', { event_name: name, options }, context);
  }

  stats(): ReporterStats {
    return this.#parts.counters.snapshot();
  }

  async flush(options: { readonly signal?: AbortSignal } = {}): Promise<ReporterFlushResult> {
    const { channels, sink } = this.#parts;
    const { signal } = check<{ signal: AbortSignal }>(options, { signal: SIGNAL });
    await untilAborted(channels.handedOver(), signal);
    const [result, trouble] = await Promise.all([
      sink?.flush(signal) ?? { ...NO_FATES, pending: 0 },
      this.#flushLog((writer) => writer.flush()),
    ]);
    return { ...result, ...trouble };
  }

  /** Not async: its callers share one promise, but for one whose deadline is none. */
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
    const { telling, channels, sink, held, clock } = this.#parts;
    const untilMs = clock.monotonicMs() + deadlineMs;
    telling.close();
    const waited = new AbortController();
    await Promise.race([channels.handedOver(), clock.sleep(deadlineMs, waited.signal)]);
    waited.abort();
    const leftMs = Math.max(0, Math.floor(untilMs - clock.monotonicMs()));
    const [result, trouble] = await Promise.all([
      sink?.close(leftMs) ?? { ...NO_FATES, returned: [], left: 0 },
      this.#flushLog((writer) => (held?.isOwned === true ? writer.close() : writer.flush())),
    ]);
    return { ...result, ...trouble };
  }

  /** What the log could not do is told beside the rest, which was done all the same. */
  async #flushLog(flush: (writer: HeldWriter['writer']) => Promise<void>) {
    const { held } = this.#parts;
    if (held === undefined) return {};
    try {
      await flush(held.writer);
      return {};
    } catch (error) {
      const isOurs = error instanceof SecurityEventError;
      return {
        logError: isOurs ? error : new SecurityEventError('ERR_WRITE_FAILED', { cause: error }),
      };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** Resolves with `work`, or when the signal is aborted. */
async function untilAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return work;
  const letGo: (() => void)[] = [];
  const abort = new Promise<void>((resolve) => {
    letGo.push(onAbort(signal, resolve));
  });
  await Promise.race([work, abort]);
  for (const one of letGo) one();
}
