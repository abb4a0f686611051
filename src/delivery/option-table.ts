/** Every option of a sender, its rule, its default and what it is for; docs/options.md is made of it. */
import { MAX_MESSAGES_PER_REQUEST } from '../contract/index.ts';
import { ANYTHING, integer, MAX_TIMER_MS, object, oneOf, type Rule } from '../option-rules.ts';
import { COMMON_RULES } from '../webhook/common-options.ts';
import type { DeliveryOptions, ManyDestinations, OneDestination } from './options.ts';
import { DEFAULT_POLICY, type DeliveryPolicy } from './retry-policy.ts';

export interface OptionRow {
  readonly rule: Rule;
  /** As it is shown in the documentation. */
  readonly default: string;
  readonly what: string;
}

const BYTES = integer(1, Number.MAX_SAFE_INTEGER);
const BYTES_OR_NONE = integer(0, Number.MAX_SAFE_INTEGER);
const MS = integer(1, MAX_TIMER_MS);
const WAIT_MS = integer(0, MAX_TIMER_MS);
const COUNT = integer(1, 1_000_000);

/** Something else judges it, with errors of its own. */
const judgedElsewhere = (expected: string): Rule => ({ ...ANYTHING, expected });

const shown = (value: number): string => String(value);
const policyRow = (
  name: Exclude<keyof DeliveryPolicy, 'schedule'>,
  rule: Rule,
  what: string,
): OptionRow => ({
  rule,
  default: shown(DEFAULT_POLICY[name]),
  what,
});

type DestinationOptions = OneDestination & ManyDestinations;

/** Where to send: `url` and `secret`, or `settings`. */
export const DESTINATION_OPTION_TABLE: Readonly<Record<keyof DestinationOptions, OptionRow>> = {
  url: {
    rule: judgedElsewhere('an absolute http or https URL without credentials'),
    default: 'required',
    what: 'Where requests go; used as it is (D33).',
  },
  secret: {
    rule: judgedElsewhere('a non-empty string'),
    default: 'required',
    what: 'The key of the signature (D32).',
  },
  application: {
    rule: judgedElsewhere('`{ id, name, environment }`, all strings'),
    default: "any application's messages",
    what: 'Whose messages are taken. `name` and `environment` are told to receivers of format 1.',
  },
  format: {
    rule: oneOf(1, 2),
    default: '2',
    what: 'The format that the receiver reads; 1 is deprecated (D40).',
  },
  tls: {
    rule: judgedElsewhere('`{ ca, cert, key }` in PEM form, `cert` and `key` together'),
    default: 'none',
    what: 'For a receiver whose certificate Node does not trust, or that asks for one.',
  },
  settings: {
    rule: judgedElsewhere('an object of applications, or a function'),
    default: 'none',
    what: "In the place of the five above: where each application's messages go (D60).",
  },
};

export const SENDER_OPTION_TABLE: Readonly<Record<keyof DeliveryOptions, OptionRow>> = {
  queue: {
    rule: object('a message queue', (value) => 'claim' in value && 'enqueue' in value),
    default: 'a queue in memory',
    what: 'Where messages wait. It belongs to this sender: `close` closes it.',
  },
  role: {
    rule: oneOf('both', 'enqueue', 'deliver'),
    default: "'both'",
    what: 'Whether this process accepts messages, delivers what waits, or both. The others need a `queue`.',
  },
  dialect: {
    rule: COMMON_RULES.dialect,
    default: "'strict'",
    what: "The contract's dialect that messages are checked against.",
  },
  v1Aliases: {
    rule: oneOf(true, false),
    default: 'false',
    what: 'In format 1, writes `id`, `url` and `risk` beside `event_id` and `event_url` (D41).',
  },
  schedule: {
    rule: judgedElsewhere('an object of `delaysMs`, `repeatLast`, `horizonMs` and `maxWaitMs`'),
    default: '5 s to 12 h in 10 steps, then every 12 h',
    what: 'When a message that failed is sent again, and until when (D71).',
  },
  lingerMs: {
    rule: WAIT_MS,
    default: '0',
    what: 'How long an idle destination waits for more messages, in ms. 0 sends at once.',
  },
  maxPendingBytes: {
    rule: BYTES,
    default: '67108864',
    what: 'Of the queue in memory: bytes that may wait; `send` rejects past it (D78).',
  },
  maxPendingMessages: {
    rule: integer(1, Number.MAX_SAFE_INTEGER),
    default: '100000',
    what: 'Of the queue in memory: messages that may wait; `send` rejects past it (D78).',
  },
  maxDeadBytes: {
    rule: BYTES_OR_NONE,
    default: '16777216',
    what: 'Of the queue in memory: bytes of dead letters; past it the oldest are discarded.',
  },
  maxBodyBytes: policyRow('maxBodyBytes', BYTES, 'The largest body of a request (D73).'),
  maxMessages: policyRow(
    'maxMessages',
    integer(1, MAX_MESSAGES_PER_REQUEST),
    'The most messages in a request (D31).',
  ),
  cautiousMaxMessages: policyRow(
    'cautiousMaxMessages',
    integer(1, MAX_MESSAGES_PER_REQUEST),
    'The same while a destination is untried or failing (D75).',
  ),
  refusedMaxAttempts: policyRow(
    'refusedMaxAttempts',
    COUNT,
    'Attempts of a message that is refused with a 4xx, but for 408, 413, 425 and 429 (D72).',
  ),
  largeBodyBytes: policyRow(
    'largeBodyBytes',
    BYTES,
    'A larger body that is refused with 400, 401, 403 or 500 may be too large (D73).',
  ),
  bisectionMaxFailures: policyRow(
    'bisectionMaxFailures',
    COUNT,
    'Requests in a row without a success after which a bisection ends (D74).',
  ),
  openAfterFailures: policyRow(
    'openAfterFailures',
    COUNT,
    'Failed requests in a row after which a destination is only probed (D75).',
  ),
  minProbeWaitMs: policyRow(
    'minProbeWaitMs',
    MS,
    'The shortest wait between two probes, whatever the schedule says (D75).',
  ),
  maxProbeWaitMs: policyRow('maxProbeWaitMs', MS, 'The longest wait between two probes (D75).'),
  slowStartStepMs: policyRow(
    'slowStartStepMs',
    MS,
    'After a recovery one request in this time, then two, four, eight … (D75).',
  ),
  goneConfirmMs: policyRow(
    'goneConfirmMs',
    WAIT_MS,
    'How far apart two answers of 410 must be to close a destination; 0: the first one does (D72).',
  ),
  growAfterSuccesses: policyRow(
    'growAfterSuccesses',
    COUNT,
    'Successes after which a learned byte budget grows by a tenth (D73), and the messages that are answered in time double.',
  ),
  healthySlots: {
    rule: COUNT,
    default: '64',
    what: 'Requests in flight to destinations that are untried or work (D75).',
  },
  failingSlots: {
    rule: COUNT,
    default: '256',
    what: 'Requests in flight to destinations whose last request failed (D75).',
  },
  lateHeadersMs: {
    rule: MS,
    default: '2000',
    what: 'A request that waits longer for settings, or for response headers, moves to the failing slots (D75).',
  },
  leaseMs: {
    rule: MS,
    default: '60000, or three times `deadlineMs`',
    what: 'How long a claim is held, longer than `deadlineMs`: past it others may send.',
  },
  upkeepMs: {
    rule: MS,
    default: '60000',
    what: 'How often expired messages are looked for, and those that nobody picked up.',
  },
  stalledAfterMs: {
    rule: MS,
    default: '60000',
    what: 'A message that could be sent and has been due for longer is told of.',
  },
  flushBeforeExitMs: {
    rule: WAIT_MS,
    default: '0',
    what: 'When the process has nothing else to do, waits so long for what is pending. 0: not at all.',
  },
  deadlineMs: {
    rule: COMMON_RULES.deadlineMs,
    default: '20000',
    what: 'How long one attempt may take in all (D76).',
  },
  network: {
    rule: COMMON_RULES.network,
    default: "'public'",
    what: 'Which addresses may be connected to (D77).',
  },
  dispatcher: {
    rule: COMMON_RULES.dispatcher,
    default: 'connections of its own',
    what: "An undici dispatcher, for a proxy say. Needs `network: 'delegated'`.",
  },
  headers: {
    rule: COMMON_RULES.headers,
    default: 'none',
    what: 'Further headers. Those of the contract cannot be changed (D35).',
  },
  userAgent: {
    rule: COMMON_RULES.userAgent,
    default: '`security-event-delivery/<version>`',
    what: 'The header User-Agent.',
  },
};
