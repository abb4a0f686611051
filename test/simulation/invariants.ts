/** Must hold in every world after every step. A failing seed prints the invariant's name. */
export const INVARIANTS = {
  ledger:
    'per application, accepted = delivered + pending + dead + discarded, as in the expected state',
  'one-outcome': 'an accepted message is delivered, pending, dead, or discarded for a known reason',
  'delivered-is-confirmed':
    'a message counts as delivered if and only if its receiver answered with 200-299',
  'request-limits': 'a request has at most 1000 messages, maxMessages and maxBodyBytes',
  'one-kind': 'a request contains messages of one application in one format',
  'claimed-messages': 'a request contains the messages of a live claim of its process, in order',
  signature: 'the signature is the HMAC of the exact body under the current secret',
  destination: 'a request goes to the current URL',
  'message-id': 'the id and the content of a message never change',
  'retry-count':
    'retry_count is never below the number of earlier sends, and exact without crashes',
  'date-created': 'date_created is the wall-clock time of the send',
  'retry-after': 'no message is sent before its own Retry-After',
  pause: 'no request goes to a destination during a pause that it requested',
  'rate-limit':
    'in every interval a destination gets at most rate x time and one request, which has the messages of one second',
  'rate-reached': 'while messages wait, a destination gets at least 90 % of its rate limit',
  'one-in-flight': 'a destination has at most one request in flight',
  slots: 'no more requests are in flight than there are slots',
  cautious: 'untried and failing destinations get at most cautiousMaxMessages',
  health: 'a destination has the health of its last attempt, and uses its slots',
  probes: 'an open destination gets one message at a time, at the times of the schedule',
  'slow-start': 'after a recovery 1, 2, 4, 8 … requests go out in a second',
  horizon: 'no message waits much longer than the horizon',
  'dead-reason': 'the reason of a dead letter is true',
  turns: 'destinations take turns: the one that was ready first is claimed first',
  'sent-at-once': 'a due message is sent at once: no other destination delays it',
  'destination-wait': 'a destination waits as long as the policy says',
  'release-unsent': 'a claim is released only without a destination, and does not count as a send',
  'nothing-after-close': 'a closed process sends nothing and has no timers',
  'process-can-exit': 'only work in progress keeps a process alive, never a wait for a retry',
  flush: 'flush ends when every earlier message is settled, and reports the right numbers',
  'close-report': 'close reports the outcome of every message, within its deadline',
  'send-result': 'send reports for each message whether it was accepted or skipped',
  events: 'each attempt and each dead letter is published once, without secrets and URLs',
  'all-delivered': 'after the faults everything deliverable is delivered within the liveness bound',
  progress: 'while messages wait, the engine makes progress',
} as const;

export type InvariantName = keyof typeof INVARIANTS;
