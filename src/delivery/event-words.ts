/** The fields of the delivery engine's events and the words in them: docs/events.md is made of it. */
import type { DeadReason, DiscardReason } from '../queue/queue.ts';
import type { FailureCode, Outcome } from '../webhook/outcome.ts';
import type { DeliveryEventName, DeliveryEvents, QueueOperation } from './events.ts';
import type { SkipReason } from './sender.ts';

type FieldOf<Name extends DeliveryEventName> = keyof DeliveryEvents[Name];

/** Every field of any event; `senderId` is in each. */
export type EventField =
  | 'senderId'
  | { [Name in DeliveryEventName]: FieldOf<Name> }[DeliveryEventName];

export const FIELD_TABLE: Readonly<Record<EventField, string>> = {
  senderId: 'identifies the sender within its process',
  applicationId: 'application of the messages',
  message_id: 'id of the message',
  message_type:
    '`message_type` of the message, or in format 1 its `svc_payload_type`; absent if it waited until its horizon, or for a destination that closed',
  format: 'format of the messages: 1 or 2',
  count: 'number of messages',
  reason: 'why; see the vocabulary of the event',
  attempt: 'number of the attempt, from 1; the same in `attempt-started` and `attempt-settled`',
  messageCount: 'number of messages in the request',
  bytes: 'size of the request body',
  maxRetryCount: 'highest `retry_count` in the request',
  isProbe: 'whether it probes a destination whose circuit breaker is open',
  outcome: 'result of the attempt',
  attempts: 'how often the message was sent; absent like `message_type`',
  ageMs:
    'time since the message was accepted or replayed, in ms; absent like `message_type`. For a destination: of the oldest message in the last request',
  failures: 'failed requests in a row, without those that may be the fault of one message',
  status: 'status of the response to the last attempt; absent without one',
  failure: 'why the last attempt had no response; absent with one',
  retryAfterMs: 'wait that the receiver asked for, in ms; absent without one',
  timings:
    '`{ dnsMs, tcpMs, tlsMs, firstByteMs, totalMs }`: duration of each phase, in ms; a phase that did not happen or did not end is absent',
  reusedConnection: 'whether the attempt used an existing connection; absent if unknown',
  isLost:
    '`true` if the queue did not take the result, because the lease had expired or the queue failed: the messages may be sent again; otherwise absent',
  waitMs: 'time without requests to the destination, in ms',
  because: 'why the destination is not usable',
  errorCode:
    'code of the error: that of the store or of the network (`57P01`, `ECONNREFUSED`), or else of the library (`ERR_QUEUE_CLOSED`); absent if unknown',
  oldestDueMs: 'time since the message became due, in ms',
  operation: 'what failed',
  retryInMs: 'time until the next try, in ms',
};

const OUTCOMES: Readonly<Record<Outcome | 'aborted', string>> = {
  delivered: 'answered with 200 to 299',
  later: 'failed; retried by the schedule',
  smaller: 'too large; sent again at once in smaller requests',
  pause: 'like `later`; nothing goes to the destination before its Retry-After',
  close: 'answered with 410; a second one closes the destination',
  dead: 'one message alone is too large',
  aborted: 'aborted by `close`; the messages are due again',
};

const FAILURES: Readonly<Record<FailureCode, string>> = {
  'address-refused': 'the network guard refused the address',
  dns: 'the host name did not resolve',
  'connection-refused': 'nothing listens on the port',
  'network-unreachable': 'no route to the address',
  'connect-timeout': 'no connection within 5 s',
  tls: 'the certificate or the TLS handshake failed',
  'headers-timeout': 'no response headers in time',
  deadline: 'no complete response within `deadlineMs`',
  'connection-reset': 'the connection closed before the response headers',
  protocol: 'the response is not HTTP, or exceeds its limits',
  aborted: 'aborted by this library',
  'undici-missing': 'undici could not be loaded, for example from a bundle; the messages wait',
  network: 'any other network error',
};

const SKIPS: Readonly<Record<SkipReason, string>> = {
  'module-not-selected': "the application's `modules` do not select it",
  'playbook-not-selected': "the application's `playbooks` do not select it",
  'v1-incident-update': 'format 1 has no updates of incidents',
  'no-v1-genre': 'format 1 has no genre for this incident',
  'destination-closed': 'the receiver answered 410 twice',
  'queue-failed':
    'the destination was reopened, but then the queue failed; the message may be stored: send it again with its id',
};

const DEATHS: Readonly<Record<DeadReason, string>> = {
  'attempts-exhausted': 'no attempts are left',
  'horizon-passed':
    'the next attempt would be after the horizon or after `maxWaitMs`, or the message waited until the horizon',
  'too-large': 'refused with 413 although it was alone',
  'destination-closed': 'the receiver answered 410 twice',
};

const DISCARDS: Readonly<Record<DiscardReason, string>> = {
  purged: 'a dead letter was purged',
  returned: 'returned by `close` of a memory queue',
  evicted: 'the oldest dead letter, to make room; only counted in `stats()`',
  lost: 'the queue file was damaged; only counted in `stats()`',
};

const MISSING: Readonly<Record<DeliveryEvents['destination-missing']['because'], string>> = {
  unknown: 'the settings have no such application, or no URL and secret',
  unusable: 'its URL or secret is invalid',
  disabled: 'its settings have `enabled: false`',
  refused: '`network` refuses the address in the URL',
  failed: 'the settings or secret function failed, or needed more than 10 s',
};

const OPERATIONS: Readonly<Record<QueueOperation, string>> = {
  claim: 'claim due messages',
  extend: 'extend a lease while the settings are looked up',
  settle: 'settle a claim',
  release: 'release unsent messages',
  maintenance: 'search for expired and stalled messages',
  close: 'dead-letter the messages of a closed destination',
  count: 'count messages that other processes settled, during a `flush`',
};

/** Under the headings of the page. */
export const EVENT_WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '`outcome` of an attempt': OUTCOMES,
  '`failure` of an attempt': FAILURES,
  '`reason` of `skipped`': SKIPS,
  '`reason` of `dead`': DEATHS,
  '`reason` of `discarded`': DISCARDS,
  '`because` of `destination-missing`': MISSING,
  '`operation` of `queue-failed`': OPERATIONS,
};
