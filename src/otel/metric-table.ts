/** The metrics and their attributes: docs/metrics.md is generated from them. */

interface MetricRow {
  readonly unit: string;
  readonly description: string;
  readonly attributes: readonly AttributeName[];
}

export const BREAKER_CHANGES = [
  'paused',
  'opened',
  'probing',
  'recovered',
  'closed',
  'missing',
] as const;
export const FAULT_EVENTS = [
  'stalled',
  'queue-failed',
  'queue-damaged',
  'settings-failed',
] as const;
export const HEALTH_VALUES = ['untried', 'healthy', 'failing', 'closed'] as const;

/** The meaning of each attribute, or its values. */
export const ATTRIBUTES = {
  'application.class':
    'class of the application; only with the option `applicationClass`; not for `discarded`, which is counted for all applications',
  sender: 'name of the sender in the option `senders`',
  outcome:
    'for messages `delivered`, `dead` or `discarded`; for requests [as in the events](events.md#outcome-of-an-attempt)',
  reason:
    'why messages were [skipped](events.md#reason-of-skipped), [dead](events.md#reason-of-dead) or [discarded](events.md#reason-of-discarded), or a destination is [missing](events.md#because-of-destination-missing); for records `failed`, `refused` or `dropped`',
  'http.response.status_code': 'status of the response, if HTTP defines it',
  'error.type':
    'for requests the status or the [failure](events.md#failure-of-an-attempt); for rejected events the [error code](errors.md)',
  change: BREAKER_CHANGES,
  fault: FAULT_EVENTS,
  state: HEALTH_VALUES,
  'event.name': '`event_name` without the protection',
  channel: ['log', 'webhook'],
} as const;

export type AttributeName = keyof typeof ATTRIBUTES;

/** The full name of a metric begins with `security_events.`. */
export const METRICS = {
  'messages.accepted': {
    unit: '{message}',
    description: 'Messages that a queue accepted',
    attributes: ['application.class'],
  },
  'messages.skipped': {
    unit: '{message}',
    description: 'Messages that were skipped',
    attributes: ['reason', 'application.class'],
  },
  'messages.settled': {
    unit: '{message}',
    description: 'Messages delivered, dead or discarded',
    attributes: ['outcome', 'reason', 'application.class'],
  },
  'attempt.duration': {
    unit: 's',
    description: 'Duration of requests to receivers',
    attributes: ['outcome', 'http.response.status_code', 'error.type', 'application.class'],
  },
  'breaker.changes': {
    unit: '{change}',
    description: 'Changes of circuit breakers',
    attributes: ['change', 'reason', 'application.class'],
  },
  faults: {
    unit: '{fault}',
    description: 'Faults of queues and settings',
    attributes: ['fault'],
  },
  'records.written': {
    unit: '{record}',
    description: 'Log records handed to their destination',
    attributes: ['event.name'],
  },
  'records.lost': {
    unit: '{record}',
    description: 'Log records that were not written',
    attributes: ['reason'],
  },
  'events.rejected': {
    unit: '{event}',
    description: 'Events that a reporter rejected',
    attributes: ['channel', 'error.type'],
  },
  'queue.messages': {
    unit: '{message}',
    description: 'Messages that wait in a queue',
    attributes: ['sender', 'application.class'],
  },
  'queue.size': {
    unit: 'By',
    description: 'Size of the messages that wait in a queue',
    attributes: ['sender'],
  },
  'queue.age': {
    unit: 's',
    description: 'Time for which the oldest claimable message has been due',
    attributes: ['sender'],
  },
  'queue.dead_letters': {
    unit: '{message}',
    description: 'Dead letters in a queue',
    attributes: ['sender'],
  },
  destinations: {
    unit: '{destination}',
    description: 'Applications of a queue by delivery state',
    attributes: ['state', 'sender'],
  },
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof METRICS;
