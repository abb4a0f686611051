/** What must hold in every world after every step; the name is what a failing seed is told by. */
export const INVARIANTS = {
  ledger: 'accepted = delivered + pending + dead + discarded, by application, as the books have it',
  'one-fate':
    'an accepted message is delivered, pending, dead or discarded for a reason of its own',
  'delivered-was-confirmed':
    'what counts as delivered was answered with 200-299, and the other way round',
  'request-limits': 'a request has at most 1000 messages, maxMessages and maxBodyBytes',
  'one-kind': 'a request has the messages of one application in one format',
  'claimed-messages': 'a request holds the messages of a live claim of its process, in order',
  signature: 'the signature is the HMAC of the exact body under the secret of that moment',
  destination: 'a request goes to the URL of that moment',
  'message-id': 'the id of a message and its content never change',
  'retry-count':
    'retry_count is never below the number of earlier sendings, and exact without a crash',
  'date-created': 'date_created is the wall clock at the sending',
  'retry-after': 'no message before its own Retry-After',
  pause: 'no request to a destination before the end of a pause that it asked for',
  'one-in-flight': 'a destination has at most one request in flight',
  slots: 'no more requests are in flight than there are slots',
  cautious: 'untried and failing destinations get at most cautiousMaxMessages',
  'tier-of-slots': 'a destination whose last request failed uses the slots for those',
  probes: 'an open destination gets one message at a time, at the times of the schedule',
  'slow-start': 'after a recovery 1, 2, 4, 8 … requests go out in a second',
  halving: 'what was refused for its size, or is bisected, goes on in at most half the company',
  'byte-budget': 'a body that is larger than what was refused is not sent before its time',
  schedule: 'a failed message waits as long as the schedule and Retry-After say, jitter included',
  attempts: 'a message has as many attempts as its status allows, and no fewer',
  horizon: 'nothing waits much longer than the horizon',
  'dead-reason': 'a message dies for a reason that is true',
  'held-up': 'what is due and may be sent is sent at once: nothing else holds it up',
  'wait-of-destination': 'a destination waits no longer than it has to',
  missing: 'a claim is given back only where there was no destination, and nothing counts as sent',
  'nothing-after-end': 'a process that was closed sends nothing and waits for nothing',
  'not-held-open': 'only work in hand keeps a process alive, never a wait for a retry',
  flush: 'flush ends when all that was accepted before is settled, and tells the right numbers',
  'close-report': 'close tells what became of everything, within its deadline',
  'send-result': 'send tells for each message whether it was accepted or skipped',
  events: 'events tell of each attempt and each death once, and never of a secret or a URL',
  'all-delivered': 'after the faults everything deliverable is delivered within the stated time',
  'no-standstill': 'there is always something that goes on while messages wait',
} as const;

export type InvariantName = keyof typeof INVARIANTS;
