/** The counters of a reporter. */
import type { ValidRecord } from '../log/validate-record.ts';
import { EVENT_NAME } from './build-record.ts';
import type { EventKind } from './event-input.ts';
import type { EventSkipReason, Settlement } from './receipt.ts';

type EventName = (typeof EVENT_NAME)[EventKind];

export interface ReporterStats {
  /** Calls of methods that report an event. */
  readonly reported: number;
  /** Calls by event name. All custom events have the same name. */
  readonly reportedByName: Readonly<Record<EventName, number>>;
  /** Records on channel A. */
  readonly written: number;
  /** Written records that only the open dialect allows. */
  readonly outsideStrict: number;
  /** Messages that were accepted on channel B. */
  readonly accepted: number;
  /** Events without a message, by reason. `dropped` and `own-work` are counted below instead; `disabled` is not counted. */
  readonly skipped: Readonly<Partial<Record<EventSkipReason, number>>>;
  /** Rejections, by channel. */
  readonly rejected: Readonly<Record<RejectedChannel, number>>;
  /** Dropped by `beforeSend`. */
  readonly dropped: number;
  /** Events caused by this library's own requests or log lines, which are not reported (they would loop). */
  readonly ownWork: number;
}

export type RejectedChannel = 'log' | 'webhook';

type Counter = 'accepted' | 'dropped' | 'ownWork';

export class ReporterCounters {
  readonly #counts: Record<Counter | 'written' | 'outsideStrict', number> = {
    written: 0,
    outsideStrict: 0,
    accepted: 0,
    dropped: 0,
    ownWork: 0,
  };
  readonly #reportedByName = Object.fromEntries(
    Object.values(EVENT_NAME).map((name) => [name, 0]),
  ) as Record<EventName, number>;
  readonly #skipped = new Map<EventSkipReason, number>();
  readonly #rejected: Record<RejectedChannel, number> = { log: 0, webhook: 0 };

  reported(kind: EventKind): void {
    this.#reportedByName[EVENT_NAME[kind]] += 1;
  }

  count(counter: Counter): void {
    this.#counts[counter] += 1;
  }

  /** Counts a written record; -1 takes back the count of one that was lost after its call. */
  written({ isOutsideStrict }: ValidRecord, count: 1 | -1 = 1): void {
    this.#counts.written += count;
    if (isOutsideStrict) this.#counts.outsideStrict += count;
  }

  /** Counts an event without a message, and returns how it ended. */
  skipped(reason: EventSkipReason): Settlement {
    this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + 1);
    return { outcome: 'skipped', reason };
  }

  rejected(channel: RejectedChannel): void {
    this.#rejected[channel] += 1;
  }

  snapshot(): ReporterStats {
    return {
      reported: Object.values(this.#reportedByName).reduce((sum, count) => sum + count, 0),
      reportedByName: { ...this.#reportedByName },
      ...this.#counts,
      skipped: Object.fromEntries(this.#skipped),
      rejected: { ...this.#rejected },
    };
  }
}
