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
  senderId: 'tells senders of one process apart',
  applicationId: 'whose messages it is about',
  message_id: 'of the message',
  format: 'of the messages: 1 or 2',
  count: 'how many messages',
  reason: 'why; a word of the vocabulary of this event',
  attempt: 'the number of the attempt, from 1: the same when it starts and when it is settled',
  messageCount: 'how many messages are in the request',
  bytes: 'of the body of the request',
  maxRetryCount: 'the largest `retry_count` in it',
  isProbe: 'whether it is to find out if an open destination is back',
  outcome: 'what follows from the attempt',
  status: 'of the response; absent where there was none',
  failure: 'why there was no response; absent where there was one',
  retryAfterMs: 'what the receiver asked for; absent where it did not',
  timings:
    '`{ dnsMs, tcpMs, tlsMs, firstByteMs, totalMs }`: how long each phase took, in ms; all but `totalMs` are absent where the phase did not happen or did not end',
  reusedConnection:
    'whether the attempt had a connection that had served one before; absent where nobody knows',
  waitMs: 'for how long nothing is sent to the destination, in ms',
  because: 'why there is no destination',
  oldestDueMs: 'for how long the message has been due, in ms',
  operation: 'what was asked of the queue',
  retryInMs: 'when it is asked again, in ms',
};

const OUTCOMES: Readonly<Record<Outcome | 'aborted', string>> = {
  delivered: 'answered with 200 to 299',
  later: 'failed; the messages are due again by the schedule',
  smaller: 'failed for its size: the messages are due again at once, in smaller requests',
  pause: 'like `later`, and the destination waits for its Retry-After',
  close: 'like `later`; said twice it closes the destination',
  dead: 'one message alone, and too large',
  aborted: 'ended by `close`; the messages are due again',
};

const FAILURES: Readonly<Record<FailureCode, string>> = {
  'address-refused': 'the network guard refused the address',
  dns: 'the name did not resolve',
  'connection-refused': 'nobody listens there',
  'network-unreachable': 'there is no way to the address',
  'connect-timeout': 'no connection within 5 s',
  tls: 'the certificate or the handshake was refused',
  'headers-timeout': 'no response headers in time',
  deadline: 'the whole time of the attempt was over',
  'connection-reset': 'the connection ended before the response headers',
  protocol: 'what came back is not HTTP, or breaks its limits',
  aborted: 'ended by us',
  'undici-missing':
    'undici could not be loaded, as from a bundle that lost it: nothing is sent, and the messages wait',
  network: 'anything else on the way',
};

const SKIPS: Readonly<Record<SkipReason, string>> = {
  'module-not-selected': "the application's `modules` do not have it set to true",
  'playbook-not-selected': 'nor its `playbooks`',
  'v1-incident-update': "in format 1 an incident's `updated` is not sent",
  'no-v1-genre': 'in format 1 there is no word for this incident',
  'destination-closed': 'the receiver has said 410 twice, and nobody has opened it again',
};

const DEATHS: Readonly<Record<DeadReason, string>> = {
  'attempts-exhausted': 'the schedule is over, or the attempts that its status allows',
  'horizon-passed':
    'the next attempt would be after the horizon, or after more than `maxWaitMs`, or it has waited until the horizon',
  'too-large': 'alone in its request, and refused with 413',
  'destination-closed': 'its destination was closed',
};

const DISCARDS: Readonly<Record<DiscardReason, string>> = {
  purged: 'a dead letter, by `purge`',
  returned: 'handed back by `close`, from a queue in memory',
  evicted:
    'the oldest dead letter, where there was no more room for them; counted by `stats()`, not told',
  lost: 'the file of its queue was damaged; counted by `stats()`, not told',
};

const MISSING: Readonly<Record<DeliveryEvents['destination-missing']['because'], string>> = {
  unknown: 'the settings have no such application, or no URL and secret for it',
  unusable: 'its URL or its secret cannot be used',
  refused: 'the URL has an address that `network` refuses',
  failed: 'asking for the settings or the secret failed, or took 10 s',
};

const OPERATIONS: Readonly<Record<QueueOperation, string>> = {
  claim: 'what is due',
  extend: 'to hold what was claimed for longer, since asking for the settings took long',
  settle: 'to take what became of a request',
  release: 'to take back what was not sent',
  upkeep: 'what has waited for too long',
  close: 'to make dead letters of what waits for a closed destination',
  count: 'which messages another process has settled, while a `flush` waits',
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
