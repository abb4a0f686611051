/** Themes of worlds: some bugs only show when several faults of one kind coincide. */
import type { SeededRandom } from '../helpers/seeded-random.ts';
import { FAULTS, type FaultName } from './faults.ts';
import type { Policy } from './profiles.ts';
import { pickWeighted } from './random-choices.ts';

export interface Theme {
  /** Relative probability. */
  readonly weight: number;
  readonly applications: readonly number[];
  readonly faults: readonly FaultName[];
  /** Maximum number of applications in a batch. */
  readonly applicationsOfBatch: number;
  readonly poisonProbability: number;
  /** Whether failing settings are the only fault. */
  readonly isAboutSettings: boolean;
  readonly policy: (random: SeededRandom) => Partial<Policy>;
}

const ANY_FAULT = (Object.keys(FAULTS) as FaultName[]).filter(
  (name) => !name.startsWith('poison-'),
);

const THEMES: readonly Theme[] = [
  {
    weight: 7,
    applications: [1, 1, 1, 2, 2, 3, 4, 6, 12],
    faults: ANY_FAULT,
    applicationsOfBatch: 3,
    poisonProbability: 0.25,
    isAboutSettings: false,
    policy: () => ({}),
  },
  {
    // Many receivers, some of which do not respond, and few slots.
    weight: 1,
    applications: [6, 9, 12],
    faults: ['slow', 'hang', 'hang-after-body', 'deadline', 'endless-body', 'connect-timeout'],
    applicationsOfBatch: 12,
    poisonProbability: 0,
    isAboutSettings: false,
    policy: (random) => ({
      maxActiveRequests: random.integer(1, 3),
      maxWaitingRequests: random.pick([1, 3, 256, 256]),
    }),
  },
  {
    // Large batches that are refused for their content or their size.
    weight: 2,
    applications: [1, 1, 2],
    faults: [
      'status-400',
      'status-422',
      'status-500',
      'limit-413',
      'limit-400',
      'limit-500',
      'flaky',
    ],
    applicationsOfBatch: 1,
    poisonProbability: 0.7,
    isAboutSettings: false,
    policy: (random) => ({
      maxMessages: random.pick([16, 1000]),
      cautiousMaxMessages: random.pick([6, 16, 100]),
      maxBodyBytes: random.pick([12_000, 1_048_576]),
      bisectionMaxFailures: random.pick([2, 3, 5, 12]),
    }),
  },
  {
    // Destinations whose settings are missing for longer than the horizon.
    weight: 1,
    applications: [1, 2, 3],
    faults: ANY_FAULT,
    applicationsOfBatch: 3,
    poisonProbability: 0.25,
    isAboutSettings: true,
    policy: () => ({ schedule: { delaysMs: [1000, 10_000], repeatLast: true, horizonMs: 90_000 } }),
  },
];

export const pickTheme = (random: SeededRandom): Theme => pickWeighted(random, THEMES);
