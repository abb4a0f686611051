/** Which outcomes each fault must have had over a thousand seeds: a world that never meets them proves nothing. */
import type { Coverage, FaultMet } from './coverage.ts';

/** Fewer need not meet them all. */
export const SEEDS_THAT_MEET_ALL = 1000;

const DELIVERED = 'in the end delivered';
const EXHAUSTED = 'dead: attempts-exhausted';
const EXPIRED = 'dead: horizon-passed';
const OPENED = 'destination opened';
const RECOVERED = 'destination recovered';

const WORKS = ['delivered', RECOVERED, DELIVERED];
const FAILS = ['postponed', OPENED, EXHAUSTED, EXPIRED, DELIVERED];
const REFUSES = [...FAILS, 'in the end died: attempts-exhausted'];
const HANGS = [...FAILS, 'aborted'];
const PAUSES = [...FAILS, 'destination paused'];
const BLAMES_SIZE = [...REFUSES, 'halved'];
const BLAMES_CONTENT = [...BLAMES_SIZE, 'bisected, halved'];
const LIMITS = ['delivered', 'halved', RECOVERED];
const POISONS = ['bisected, halved', 'postponed', EXHAUSTED, EXPIRED, DELIVERED];
const SURVIVED = [DELIVERED];
const AWAY = [DELIVERED, 'in the end died: horizon-passed'];

type Row = Exclude<FaultMet, 'queue-full'>;

const REQUIRED: Readonly<Record<Row, readonly string[]>> = {
  none: WORKS,
  accepted: WORKS,
  slow: [...WORKS, 'aborted'],
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
  // Closed before most horizons pass.
  'status-410': [
    ...REFUSES.filter((outcome) => outcome !== EXPIRED),
    'destination closed',
    'in the end died: destination-closed',
  ],
  'status-422': [...REFUSES, 'bisected, halved'],
  'status-425': FAILS,
  'status-429': PAUSES,
  'status-500': BLAMES_CONTENT,
  'status-502': FAILS,
  'status-503': PAUSES,
  'limit-413': [...LIMITS, DELIVERED, 'too large', 'in the end died: too-large'],
  'limit-400': [...LIMITS, ...FAILS, 'bisected, halved'],
  'limit-403': [...LIMITS, ...FAILS],
  'limit-500': [...LIMITS, ...FAILS, 'bisected, halved'],
  flaky: ['delivered', ...PAUSES, 'halved', 'bisected, halved', RECOVERED],
  'poison-400': [...POISONS, 'halved'],
  'poison-422': POISONS,
  'poison-500': [...POISONS, 'halved'],
  'crash-before-post': SURVIVED,
  'crash-before-body': SURVIVED,
  'crash-after-body': SURVIVED,
  'closed-mid-attempt': SURVIVED,
  'new-url': SURVIVED,
  'new-secret': SURVIVED,
  'new-format': SURVIVED,
  'clock-set': SURVIVED,
  removed: AWAY,
  'secret-throws': AWAY,
  'settings-throw': AWAY,
  'settings-hang': AWAY,
  'bad-url': AWAY,
  rejects: SURVIVED,
  'loses-answer': SURVIVED,
};

const BESIDE: Readonly<Record<string, readonly string[]>> = {
  'retry-after-seconds': ['postponed', 'halved', 'bisected, halved', EXPIRED],
  'retry-after-date': ['postponed', 'halved', 'bisected, halved', EXPIRED],
  'retry-after-garbage': ['postponed', 'halved', 'bisected, halved', EXPIRED],
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
  maintenance: ['destination-closed', 'horizon-passed'],
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
