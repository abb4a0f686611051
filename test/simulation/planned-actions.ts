/** Plans the actions of a world: faults outside the receivers, and calls by operators. */

import type { SenderRole } from '../../src/delivery/options.ts';
import type { SeededRandom } from '../helpers/seeded-random.ts';
import { chance, times } from './random-choices.ts';
import {
  type ApplicationScenario,
  type PlannedAction,
  QUEUE_FAULTS,
  SETTINGS_FAULTS,
} from './scenario.ts';
import type { Theme } from './themes.ts';

interface PlanOptions {
  readonly applications: readonly ApplicationScenario[];
  readonly processes: readonly SenderRole[];
  readonly isDurable: boolean;
  readonly spanMs: number;
  /** Times of the batches. */
  readonly busyMs: readonly number[];
  readonly theme: Theme;
}

type Make = (random: SeededRandom, target: Target) => PlannedAction;

interface Target {
  readonly atMs: number;
  readonly application: number;
  readonly process: number;
  readonly spanMs: number;
}

/** Mostly short: a world that is broken most of the time tests little. */
const duration = (random: SeededRandom, spanMs: number): number =>
  chance(random, 0.1) ? spanMs : 1000 + Math.floor((spanMs / 3) * random() ** 3);

const settingsFail: Make = (random, { atMs, application, spanMs }) => ({
  kind: 'settings',
  atMs,
  application,
  how: random.pick(SETTINGS_FAULTS),
  forMs: chance(random, 0.5) ? spanMs : duration(random, spanMs),
});

const GENERAL: readonly Make[] = [
  (random, { atMs, process }) => ({
    kind: 'flush',
    atMs,
    process,
    budgetMs: chance(random, 0.5) ? random.integer(0, 60_000) : undefined,
  }),
  (_, { atMs, application }) => ({ kind: 'new-url', atMs, application }),
  (_, { atMs, application }) => ({ kind: 'new-secret', atMs, application }),
  (_, { atMs, application }) => ({ kind: 'new-format', atMs, application }),
  (_, { atMs, application }) => ({ kind: 'reopen', atMs, application }),
  settingsFail,
  (random, { atMs, spanMs }) => ({
    kind: 'slow-settings',
    atMs,
    delayMs: random.integer(1, 3000),
    forMs: duration(random, spanMs),
  }),
  (random, { atMs }) => ({ kind: 'clock', atMs, byMs: random.integer(-3_600_000, 3_600_000) }),
  (_, { atMs }) => ({ kind: 'replay', atMs }),
  (_, { atMs }) => ({ kind: 'purge', atMs }),
];

const DURABLE: readonly Make[] = [
  (random, { atMs, process, spanMs }) => ({
    kind: 'crash',
    atMs,
    process,
    isMidAttempt: chance(random, 0.7),
    downMs: duration(random, spanMs),
  }),
  (random, { atMs, process, spanMs }) => ({
    kind: 'close',
    atMs,
    process,
    isMidAttempt: chance(random, 0.5),
    downMs: duration(random, spanMs),
    deadlineMs: random.pick([0, 500, 10_000]),
  }),
  (random, { atMs }) => ({
    kind: 'queue',
    atMs,
    how: random.pick(QUEUE_FAULTS),
    forMs: random.integer(100, 20_000),
  }),
];

export function planActions(random: SeededRandom, options: PlanOptions): PlannedAction[] {
  const { applications, processes, isDurable, spanMs, busyMs, theme } = options;
  const any = isDurable ? [...GENERAL, ...DURABLE, ...DURABLE, ...DURABLE] : GENERAL;
  const makes = theme.isAboutSettings ? [settingsFail] : any;
  return times(random, random.integer(0, 10), spanMs).map((anyMs) =>
    random.pick(makes)(random, {
      // Mostly soon after a batch, while messages wait.
      atMs: chance(random, 0.7)
        ? Math.min(random.pick(busyMs) + random.integer(0, 2000), spanMs)
        : anyMs,
      application: random.integer(0, applications.length - 1),
      process: random.integer(0, processes.length - 1),
      spanMs,
    }),
  );
}
