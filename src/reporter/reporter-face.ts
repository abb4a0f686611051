/** A reporter, with its end. */
import { check, integer, MAX_TIMER_MS } from '../option-rules.ts';
import { EventFace, type EventFaceParts } from './event-face.ts';
import { NO_FATES } from './message-sink.ts';
import type { Reporter, ReporterCloseResult } from './reporter.ts';

const DEFAULT_CLOSE_MS = 10_000;

export class ReporterFace extends EventFace implements Reporter {
  readonly #parts: EventFaceParts;
  #closing: Promise<ReporterCloseResult> | undefined;

  constructor(parts: EventFaceParts) {
    super(parts);
    this.#parts = parts;
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
    const { telling, channels, sink, logEnd, clock } = this.#parts;
    const untilMs = clock.monotonicMs() + deadlineMs;
    telling.close();
    const waited = new AbortController();
    await Promise.race([channels.handedOver(), clock.sleep(deadlineMs, waited.signal)]);
    waited.abort();
    const leftMs = Math.max(0, Math.floor(untilMs - clock.monotonicMs()));
    const [result, trouble] = await Promise.all([
      sink?.close(leftMs) ?? { ...NO_FATES, returned: [], left: 0 },
      logEnd.close(),
    ]);
    return { ...result, ...trouble };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
