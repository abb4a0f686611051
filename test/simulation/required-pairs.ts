/** Which outcomes each fault must have had over a thousand seeds: a world that never meets them proves nothing. */
import type { Coverage, FaultMet } from './coverage.ts';

const DELIVERED = 'in the end delivered';
const EXHAUSTED = 'dead: attempts-exhausted';
const EXPIRED = 'dead: horizon-passed';
const OPENED = 'destination opened';
const RECOVERED = 'destination recovered';

const WORKS = ['delivered', RECOVERED, DELIVERED];
const FAILS = ['postponed', OPENED, EXHAUSTED, DELIVERED];
const HANGS = [...FAILS, EXPIRED, 'aborted'];
const REFUSES = [...FAILS, 'in the end died: attempts-exhausted'];
const BLAMES_SIZE = [...REFUSES, 'halved'];
const BLAMES_CONTENT = [...BLAMES_SIZE, 'bisected, halved'];
const LIMITS = ['delivered', 'halved', RECOVERED, DELIVERED];
const POISONS = ['bisected, halved', 'halved', 'postponed', EXHAUSTED, DELIVERED];
const SURVIVED = [DELIVERED];

type Row = Exclude<FaultMet, 'queue-full'>;

const REQUIRED: Readonly<Record<Row, readonly string[]>> = {
  none: WORKS,
  accepted: WORKS,
  slow: WORKS,
  'endless-body': WORKS,
  hang: HANGS,
  'hang-after-body': HANGS,
  deadline: HANGS,
  'reset-before-body': FAILS,
  'reset-after-body': FAILS,
  dns: FAILS,
  refused: FAILS,
  unreachable: FAILS,
  'connect-timeout': [...FAILS, 'aborted'],
  tls: FAILS,
  'not-http': FAILS,
  'address-refused': FAILS,
  'status-301': FAILS,
  'status-400': BLAMES_CONTENT,
  'status-401': BLAMES_SIZE,
  'status-403': BLAMES_SIZE,
  'status-404': REFUSES,
  'status-408': FAILS,
  'status-410': [...REFUSES, 'destination closed', 'in the end died: destination-closed'],
  'status-422': [...REFUSES, 'bisected, halved'],
  'status-425': FAILS,
  'status-429': FAILS,
  'status-500': [...FAILS, 'halved', 'bisected, halved'],
  'status-502': FAILS,
  'status-503': FAILS,
  'limit-413': [...LIMITS, 'too large', 'in the end died: too-large'],
  'limit-400': [...LIMITS, 'bisected, halved', 'postponed'],
  'limit-403': [...LIMITS, 'postponed', OPENED],
  'limit-500': [...LIMITS, 'bisected, halved', 'postponed'],
  flaky: ['delivered', 'postponed', 'bisected, halved', OPENED, RECOVERED, DELIVERED],
  'poison-400': POISONS,
  'poison-422': POISONS.filter((outcome) => outcome !== 'halved'),
  'poison-500': POISONS,
  'crash-before-post': SURVIVED,
  'crash-before-body': SURVIVED,
  'crash-after-body': SURVIVED,
  'closed-mid-attempt': SURVIVED,
  'new-url': SURVIVED,
  'new-secret': SURVIVED,
  'new-format': SURVIVED,
  'clock-set': SURVIVED,
  removed: [...SURVIVED, 'in the end died: horizon-passed'],
  'secret-throws': SURVIVED,
  'settings-throw': SURVIVED,
  'settings-hang': SURVIVED,
  'bad-url': SURVIVED,
  rejects: SURVIVED,
  'loses-answer': SURVIVED,
};

const BESIDE: Readonly<Record<string, readonly string[]>> = {
  'retry-after-seconds': ['postponed', 'halved', 'bisected, halved', EXPIRED],
  'retry-after-date': ['postponed', 'halved', 'bisected, halved', EXPIRED],
  'retry-after-garbage': ['postponed', 'halved', 'bisected, halved'],
  send: [
    'refused: ERR_QUEUE_FULL',
    'refused: ERR_QUEUE_FAILED',
    'refused: ERR_SETTINGS_FAILED',
    'refused: ERR_UNKNOWN_APPLICATION',
    'refused: ERR_MESSAGE_TOO_LARGE',
    'skipped: module-not-selected',
    'skipped: playbook-not-selected',
    'skipped: destination-closed',
  ],
  upkeep: ['destination-closed', 'horizon-passed'],
  flush: ['ended', 'aborted'],
  close: ['all delivered', 'some left', 'some returned'],
};

/** As `fault: outcome`. */
export function missingPairs(coverage: Coverage): string[] {
  return Object.entries({ ...REQUIRED, ...BESIDE }).flatMap(([fault, outcomes]) =>
    outcomes
      .filter((outcome) => coverage.count(fault, outcome) === 0)
      .map((outcome) => `${fault}: ${outcome}`),
  );
}
