/**
 * What the delivery engine tells while it works: one table of events, published on
 * `node:diagnostics_channel` under `security-event-delivery:<name>`. Ids, counts, times and words of
 * closed vocabularies; never a secret, a URL, a payload or a received text.
 */

import { channel } from 'node:diagnostics_channel';
import { debuglog } from 'node:util';
import { once } from '../once.ts';
import type { DeadReason, DiscardReason, Format } from '../queue/queue.ts';
import type { FailureCode, Outcome, PhaseTimings } from '../webhook/outcome.ts';
import type { MissingDestination } from './destination.ts';
import type { SkipReason } from './sender.ts';

interface OfApplication {
  readonly applicationId: string;
}

/** What every event has. */
export interface DeliveryEvent {
  /** Tells senders of one process apart. */
  readonly senderId: string;
}

interface AttemptStarted extends OfApplication {
  /** Counts the attempts of this sender. */
  readonly attempt: number;
  readonly format: Format;
  readonly messageCount: number;
  /** Of the body. */
  readonly bytes: number;
  /** The largest `retry_count` in it. */
  readonly maxRetryCount: number;
  /** Whether it probes a destination that is open. */
  readonly isProbe: boolean;
}

interface AttemptSettled extends AttemptStarted {
  readonly outcome: Outcome | 'aborted';
  readonly status?: number;
  readonly failure?: FailureCode;
  readonly retryAfterMs?: number;
  readonly timings: PhaseTimings;
  readonly reusedConnection?: boolean;
  readonly isLost?: true;
}

interface Paused extends OfApplication {
  readonly waitMs: number;
}

/** How an attempt ended: with a status, or with a word for why there is none. */
interface LastAttempt {
  readonly status?: number;
  readonly failure?: FailureCode;
}

interface FailingDestination extends OfApplication {
  /** Failed requests in a row. */
  readonly failures: number;
  /** Of the oldest message in the last request. */
  readonly ageMs: number;
}

interface DeadMessageEvent extends OfApplication, LastAttempt {
  readonly message_id: string;
  readonly reason: DeadReason;
  /** This and the next two are absent where the message died without an attempt. */
  readonly message_type?: string;
  /** How often it was sent. */
  readonly attempts?: number;
  /** Since it was accepted or replayed. */
  readonly ageMs?: number;
}

export interface DeliveryEvents {
  readonly accepted: OfApplication & { readonly format: Format; readonly count: number };
  readonly skipped: OfApplication & { readonly reason: SkipReason; readonly count: number };
  readonly 'attempt-started': AttemptStarted;
  readonly 'attempt-settled': AttemptSettled;
  readonly 'destination-paused': Paused;
  readonly 'destination-opened': Paused & FailingDestination & LastAttempt;
  readonly 'destination-probing': OfApplication;
  readonly 'destination-recovered': OfApplication;
  readonly 'destination-closed': FailingDestination;
  readonly 'destination-missing': Paused & { readonly because: MissingDestination };
  readonly dead: DeadMessageEvent;
  readonly discarded: { readonly reason: DiscardReason; readonly count: number };
  readonly stalled: { readonly oldestDueMs: number };
  readonly 'queue-failed': {
    readonly operation: QueueOperation;
    readonly retryInMs: number;
    readonly errorCode?: string;
  };
}

/** What was asked of a queue that failed; `maintenance`, `close` and `count` are about what became of messages in it. */
export type QueueOperation =
  | 'claim'
  | 'extend'
  | 'settle'
  | 'release'
  | 'maintenance'
  | 'close'
  | 'count';

export type DeliveryEventName = keyof DeliveryEvents;

type EventTable = {
  readonly [Name in DeliveryEventName]: {
    /** When it is told. */
    readonly when: string;
    /** Its fields beside `senderId`, as its type has them. */
    readonly fields: readonly (keyof DeliveryEvents[Name])[];
  };
};

const ATTEMPT = [
  'applicationId',
  'attempt',
  'format',
  'messageCount',
  'bytes',
  'maxRetryCount',
  'isProbe',
] as const;

const FAILING = ['failures', 'ageMs'] as const;

export const EVENT_TABLE: EventTable = {
  accepted: {
    when: 'the queue accepted messages of one application',
    fields: ['applicationId', 'format', 'count'],
  },
  skipped: {
    when: 'messages were skipped, which is not an error',
    fields: ['applicationId', 'reason', 'count'],
  },
  'attempt-started': { when: 'a request starts', fields: ATTEMPT },
  'attempt-settled': {
    when: 'a request has ended, and the queue was asked to settle its messages',
    fields: [
      ...ATTEMPT,
      'outcome',
      'status',
      'failure',
      'retryAfterMs',
      'timings',
      'reusedConnection',
      'isLost',
    ],
  },
  'destination-paused': {
    when: 'a receiver answered 429 or 503 with Retry-After',
    fields: ['applicationId', 'waitMs'],
  },
  'destination-opened': {
    when: 'the circuit breaker opened: the destination is only probed',
    fields: ['applicationId', 'waitMs', ...FAILING, 'status', 'failure'],
  },
  'destination-probing': {
    when: 'one message probes a destination with an open circuit breaker',
    fields: ['applicationId'],
  },
  'destination-recovered': {
    when: 'a probe was delivered: slow start begins',
    fields: ['applicationId'],
  },
  'destination-closed': {
    when: 'a receiver answered 410 twice: its waiting messages become dead letters',
    fields: ['applicationId', ...FAILING],
  },
  'destination-missing': {
    when: 'waiting messages have no usable URL or secret',
    fields: ['applicationId', 'waitMs', 'because'],
  },
  dead: {
    when: 'a message became a dead letter',
    fields: [
      'applicationId',
      'message_id',
      'reason',
      'message_type',
      'attempts',
      'ageMs',
      'status',
      'failure',
    ],
  },
  discarded: {
    when: 'accepted messages were discarded: neither delivered nor kept',
    fields: ['reason', 'count'],
  },
  stalled: {
    when: 'a message has been due for `stalledAfterMs` without being claimed',
    fields: ['oldestDueMs'],
  },
  'queue-failed': {
    when: 'an operation of the queue failed and will be tried again',
    fields: ['operation', 'retryInMs', 'errorCode'],
  },
};

export const CHANNEL_PREFIX = 'security-event-delivery:';

export type Observe = <Name extends DeliveryEventName>(
  name: Name,
  /** Called only where somebody listens. */
  event: () => DeliveryEvents[Name],
) => void;

/** Returns the code of what a queue failed with: the one of its store or of the network, or else the library's. */
export function errorCodeOf(error: unknown): { readonly errorCode?: string } {
  const { code, cause } =
    error instanceof Error ? (error as { code?: unknown; cause?: unknown }) : {};
  const inner = cause === undefined ? {} : errorCodeOf(cause);
  if (inner.errorCode !== undefined) return inner;
  return typeof code === 'string' ? { errorCode: code } : {};
}

/** `senderId` is added to every event. */
export function createObserver(senderId: string): Observe {
  const channels = new Map<DeliveryEventName, ReturnType<typeof channel>>();
  return (name, event) => {
    let target = channels.get(name);
    if (target === undefined) {
      target = channel(CHANNEL_PREFIX + name);
      channels.set(name, target);
    }
    if (target.hasSubscribers) target.publish({ senderId, ...event() });
    if (debug().enabled) debugEvent(name, { senderId, ...event() });
  };
}

/** `NODE_DEBUG=security-events` prints to standard error (D83). */
const debug = once(() => debuglog('security-events'));

/** Prints an event, if the host asks for it. Events hold no secret, no payload and no received text. */
export function debugEvent(name: string, event: object): void {
  debug()('%s %j', name, event);
}
