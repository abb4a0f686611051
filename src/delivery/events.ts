/**
 * The events of senders: one table, published on `node:diagnostics_channel` under
 * `security-event-delivery:<name>`. They hold ids, types, counts, times, reasons and codes; never a
 * secret, a URL, a payload or received text.
 */
import type { DeadReason, DiscardReason, Format } from '../queue/queue.ts';
import { DiagnosticsChannel } from '../runtime/diagnostics.ts';
import type { Outcome, PhaseTimings } from '../webhook/outcome.ts';
import type { MissingDestination } from './destination.ts';
import type { LastAttempt } from './report.ts';
import type { SkipReason } from './sender.ts';

interface ApplicationEvent {
  readonly applicationId: string;
}

/** The fields of every event. */
export interface DeliveryEvent {
  /** Identifies the sender in its process. */
  readonly senderId: string;
}

interface AttemptStarted extends ApplicationEvent {
  /** Counts the attempts of this sender. */
  readonly attempt: number;
  readonly format: Format;
  readonly messageCount: number;
  /** Size of the body. */
  readonly bytes: number;
  /** Highest `retry_count` in the request. */
  readonly maxRetryCount: number;
  /** Whether it probes an open circuit breaker. */
  readonly isProbe: boolean;
}

interface AttemptSettled extends AttemptStarted, LastAttempt {
  readonly outcome: Outcome | 'aborted';
  readonly retryAfterMs?: number;
  readonly timings: PhaseTimings;
  readonly reusedConnection?: boolean;
  /** Set if the claim was not settled: then the messages may be sent again. */
  readonly isLost?: true;
}

interface Paused extends ApplicationEvent {
  readonly waitMs: number;
}

/** A message after an attempt. */
interface SentMessageFields {
  readonly message_type: string;
  /** How often it was sent. */
  readonly attempts: number;
  /** Time since it was accepted or replayed, in milliseconds. */
  readonly ageMs: number;
}

/** The message fields are of the oldest message in the last request. */
interface FailingDestination extends ApplicationEvent, SentMessageFields {
  /** Failed requests in a row. */
  readonly failures: number;
}

/** The fields of an attempt are absent if the message became a dead letter without one, by maintenance. */
interface DeadMessageEvent extends ApplicationEvent, LastAttempt, Partial<SentMessageFields> {
  readonly message_id: string;
  readonly reason: DeadReason;
}

export interface DeliveryEvents {
  readonly accepted: ApplicationEvent & { readonly format: Format; readonly count: number };
  readonly skipped: ApplicationEvent & { readonly reason: SkipReason; readonly count: number };
  readonly 'attempt-started': AttemptStarted;
  readonly 'attempt-settled': AttemptSettled;
  readonly 'destination-paused': Paused;
  readonly 'destination-opened': Paused & FailingDestination & LastAttempt;
  readonly 'destination-probing': ApplicationEvent;
  readonly 'destination-recovered': ApplicationEvent;
  readonly 'destination-closed': FailingDestination & Pick<LastAttempt, 'status'>;
  readonly 'destination-missing': Paused & { readonly because: MissingDestination };
  readonly dead: DeadMessageEvent;
  readonly discarded: { readonly reason: DiscardReason; readonly count: number };
  readonly stalled: { readonly oldestDueMs: number };
  readonly 'queue-failed': {
    readonly operation: QueueOperation;
    /** Absent if it is not tried again. */
    readonly retryInMs?: number;
    readonly errorCode?: string;
  };
}

/** Operation of the queue that failed. */
export type QueueOperation =
  | 'claim'
  | 'extend'
  | 'settle'
  | 'release'
  | 'maintenance'
  /** making the messages of a closed destination dead letters */
  | 'close'
  | 'count'
  | 'enqueue';

export type DeliveryEventName = keyof DeliveryEvents;

type EventTable = {
  readonly [Name in DeliveryEventName]: {
    /** When it is published. */
    readonly when: string;
    /** Its fields besides `senderId`, as in its type. */
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

const SENT_MESSAGE = ['message_type', 'attempts', 'ageMs', 'status'] as const;

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
    fields: ['applicationId', 'waitMs', 'failures', ...SENT_MESSAGE, 'failure'],
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
    when: '410 closed a destination: its waiting messages become dead letters',
    fields: ['applicationId', 'failures', ...SENT_MESSAGE],
  },
  'destination-missing': {
    when: 'waiting messages have no usable URL or secret',
    fields: ['applicationId', 'waitMs', 'because'],
  },
  dead: {
    when: 'a message became a dead letter',
    fields: ['applicationId', 'message_id', 'reason', ...SENT_MESSAGE, 'failure'],
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
    when: 'an operation of the queue failed',
    fields: ['operation', 'retryInMs', 'errorCode'],
  },
};

export type Observe = <Name extends DeliveryEventName>(
  name: Name,
  /** Called only if the event has a subscriber. */
  event: () => DeliveryEvents[Name],
) => void;

/** A sender that stops does not try again. */
export const nextTry = (
  retryInMs: number,
  { aborted }: AbortSignal,
): { readonly retryInMs?: number } => (aborted ? {} : { retryInMs });

/** Returns the code of the innermost cause that has one: the network's or the database's rather than this library's. */
export function errorCodeOf(error: unknown): { readonly errorCode?: string } {
  let errorCode: string | undefined;
  // An error may be its own cause.
  const seen = new Set<unknown>();
  for (let current = error; current instanceof Error && !seen.has(current); ) {
    seen.add(current);
    const { code, cause } = current as NodeJS.ErrnoException;
    if (typeof code === 'string') errorCode = code;
    current = cause;
  }
  return errorCode === undefined ? {} : { errorCode };
}

/** `senderId` is added to every event. */
export function createObserver(senderId: string): Observe {
  const channels = new Map(
    Object.keys(EVENT_TABLE).map((name) => [name, new DiagnosticsChannel(name)]),
  );
  return (name, event) => {
    const target = channels.get(name);
    if (target?.isWanted === true) target.publish({ senderId, ...event() });
  };
}
