/** What the fields of events and their values mean. docs/events.md is generated from it. */

import type {
  DeliveryEventName,
  DeliveryEvents,
  QueueOperation,
} from '../../src/delivery/events.ts';
import type { SkipReason } from '../../src/delivery/sender.ts';
import type { DeadReason, DiscardReason } from '../../src/queue/queue.ts';
import type { FailureCode, Outcome } from '../../src/webhook/outcome.ts';

type FieldOf<Name extends DeliveryEventName> = keyof DeliveryEvents[Name];

/** Every field of any event; `senderId` is in each. */
export type EventField =
  | 'senderId'
  | { [Name in DeliveryEventName]: FieldOf<Name> }[DeliveryEventName];

/** What the names of fields do not say. */
export const FIELD_TABLE: Readonly<Partial<Record<EventField, string>>> = {
  senderId: 'identifies the sender in its process',
  message_type:
    "type (`svc_payload_type` in format 1) of the message, or of the oldest one in a destination's last request; absent if no attempt caused it",
  attempt: 'counts the attempts of the sender, from 1',
  maxRetryCount: 'highest `retry_count` in the request',
  attempts: 'how often that message was sent; absent if no attempt caused it',
  ageMs: 'time since that message was accepted or replayed; absent if no attempt caused it',
  failures: 'failed requests in a row that are not the fault of one message',
  status: 'of the last response; absent without one',
  failure: 'why there was no response; absent with one',
  timings: '`{ dnsMs, tcpMs, tlsMs, firstByteMs, totalMs }`, of the phases that ended',
  reusedConnection: 'whether the connection existed before; absent if unknown',
  isLost:
    '`true` if the lease had expired or the queue failed: the messages may be sent again; otherwise absent',
  waitMs: 'pause before the next request',
  errorCode:
    'code of the store, the network (`57P01`, `ECONNREFUSED`) or the library; absent if unknown',
  oldestDueMs: 'time since the message became due',
  retryInMs: 'time until the next try; absent if there is none',
};

const OUTCOMES: Readonly<Record<Outcome | 'aborted', string>> = {
  delivered: 'answered with 200 to 299',
  later: 'failed; retried by the schedule',
  smaller: 'too large; sent again in smaller requests',
  pause: 'like `later`; nothing goes to the destination before its Retry-After',
  close: 'answered with 410, which may close the destination',
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
  'undici-missing': 'undici could not be loaded; the messages wait',
  network: 'any other network error',
};

const SKIPS: Readonly<Record<SkipReason, string>> = {
  'module-not-selected': "the application's `modules` do not select it",
  'playbook-not-selected': "the application's `playbooks` do not select it",
  'v1-incident-update': 'format 1 has no updates of incidents',
  'no-v1-genre': 'format 1 has no genre for this incident',
  'destination-closed': 'the destination closed after 410',
  'queue-full': 'the destination was reopened, but the queue is full: send the message again later',
  'queue-failed':
    'the destination was reopened, but then the queue failed: send the message again with its id',
};

const DEATHS: Readonly<Record<DeadReason, string>> = {
  'attempts-exhausted': 'no attempts are left',
  'horizon-passed':
    'the horizon passed, or the next attempt would be after it or after `maxWaitMs`',
  'too-large': 'refused with 413 although it was alone',
  'destination-closed': 'the destination closed after 410',
};

const DISCARDS: Readonly<Record<DiscardReason, string>> = {
  purged: 'a dead letter was purged',
  returned: 'returned by `close` of a memory queue',
  evicted: 'the oldest dead letter, to make room; only counted in `stats()`',
  damaged: 'the queue file was damaged; only counted in `stats()`',
};

const MISSING: Readonly<Record<DeliveryEvents['destination-missing']['because'], string>> = {
  unknown: 'the settings have no such application, or no URL and secret',
  unusable: 'its settings are invalid',
  disabled: 'its settings have `enabled: false`',
  refused: '`network` refuses the address in the URL',
  failed: 'the settings or secret function failed, or needed more than 10 s',
};

const OPERATIONS: Readonly<Record<QueueOperation, string>> = {
  claim: 'open the queue, or claim due messages',
  extend: 'extend a lease before a late request',
  settle: 'settle a claim',
  release: 'release unsent messages',
  maintenance: 'search for expired and stalled messages',
  close: 'dead-letter the messages of a closed destination',
  count: 'count messages that still wait, during a `flush` or after a failed `settle`',
  enqueue: 'reopen a closed destination whose URL has changed, or store its messages',
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
