/** The methods of a reporter that tell: its own, and those of reporters that are derived from it. */
import { FLUSH_RULES, type FlushOptions } from '../delivery/call-options.ts';
import { check, usable } from '../option-rules.ts';
import type { Clock } from '../runtime/clock.ts';
import { NOT_NEEDED } from '../runtime/not-needed.ts';
import { onAbort } from '../runtime/on-abort.ts';
import type { Channels } from './channels.ts';
import { NOTHING_OWN, NOTHING_SAID } from './event-draft.ts';
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
import type { EventTelling } from './event-reporter.ts';
import type { LogEnd } from './log-end.ts';
import { type MessageSink, NOTHING_FLUSHED } from './message-sink.ts';
import type { Receipt } from './receipt.ts';
import type { EventReporter, ReporterFlushResult } from './reporter.ts';
import type { ReporterCounters, ReporterStats } from './reporter-stats.ts';

export interface EventFaceParts {
  readonly telling: EventTelling;
  readonly channels: Channels;
  readonly counters: ReporterCounters;
  readonly logEnd: LogEnd;
  readonly sink: MessageSink | undefined;
  readonly clock: Clock;
}

const MODULE = usable('a non-empty string', (value) => typeof value === 'string' && value !== '');

export class EventFace implements EventReporter {
  readonly #parts: EventFaceParts;
  readonly #module: string | undefined;

  constructor(parts: EventFaceParts, module?: string) {
    this.#parts = parts;
    this.#module = module;
  }

  attack(payload: AttackPayload, context?: EventContext): Receipt {
    return this.#tell('attack', payload, context);
  }

  vulnerabilityExploit(payload: ExploitPayload, context?: EventContext): Receipt {
    return this.#tell('vulnerabilityExploit', payload, context);
  }

  incident(payload: IncidentPayload, context?: EventContext): Receipt {
    return this.#tell('incident', payload, context);
  }

  playbookTrigger(payload: PlaybookPayload, context?: EventContext): Receipt {
    return this.#tell('playbookTrigger', payload, context);
  }

  userLogin(payload: UserEventPayload, context?: EventContext): Receipt {
    return this.#tell('userLogin', payload, context);
  }

  userSignup(payload: UserEventPayload, context?: EventContext): Receipt {
    return this.#tell('userSignup', payload, context);
  }

  customEvent(name: string, options: CustomOptions, context?: EventContext): Receipt {
    return this.#tell('customEvent', { event_name: name, options }, context);
  }

  #tell(kind: EventKind, payload: unknown, given: EventContext = NOTHING_SAID): Receipt {
    return this.#parts.telling.tell({
      kind,
      payload,
      given,
      context: NOTHING_OWN,
      module: this.#module,
    });
  }

  with(options: { readonly module: string }): EventReporter {
    const { module = this.#module } = check<{ module: string }>(options, { module: MODULE });
    return faceOf(this.#parts, module);
  }

  stats(): ReporterStats {
    return this.#parts.counters.snapshot();
  }

  async flush(options: FlushOptions = {}): Promise<ReporterFlushResult> {
    const { channels, sink, logEnd, clock } = this.#parts;
    const { signal, deadlineMs } = check<FlushOptions>(options, FLUSH_RULES);
    const limit = new AbortController();
    const letGo = signal === undefined ? () => {} : onAbort(signal, () => limit.abort(NOT_NEEDED));
    if (deadlineMs !== undefined) {
      void clock.sleep(deadlineMs, limit.signal).then(() => limit.abort(NOT_NEEDED));
    }
    const end = signal === undefined && deadlineMs === undefined ? undefined : limit.signal;
    try {
      await untilAborted(channels.handedOver(), end);
      const flushed = sink?.flush(end) ?? NOTHING_FLUSHED;
      const [result, trouble] = await Promise.all([flushed, logEnd.flush()]);
      return { ...result, ...trouble };
    } finally {
      letGo();
      limit.abort(NOT_NEEDED);
    }
  }
}

// Beside the class: one that names itself in its own body would have another name in the joined files.
const faceOf = (parts: EventFaceParts, module: string | undefined): EventReporter =>
  new EventFace(parts, module);

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
