/** Generates a scenario from a seed. */
import { createSeededRandom, type SeededRandom } from '../helpers/seeded-random.ts';
import { planActions } from './planned-actions.ts';
import { type Policy, type Profile, pickPolicy, pickProfile } from './profiles.ts';
import type { QueueKind } from './queue-backend.ts';
import { chance, times } from './random-choices.ts';
import type {
  ApplicationScenario,
  Batch,
  FixedSettings,
  MessagePlan,
  Phase,
  Scenario,
} from './scenario.ts';
import { pickTheme, type Theme } from './themes.ts';

/** Each step on a real queue costs real time. */
const MAX_SPAN_MS = 20 * 60_000;
/** Distance to the next seed to try. More than a million, so that the first million seeds stay distinct. */
const STRIDE = 1_000_003;

const isSuitable = ({ isDurable, healedMs }: Scenario): boolean =>
  isDurable && healedMs <= MAX_SPAN_MS;

/** Returns the scenario of a seed. Skips scenarios that the kind of queue cannot run. */
export function scenarioOf(seed: number, kind: QueueKind): Scenario {
  if (kind === 'memory') return generate(seed);
  let scenario = generate(seed);
  for (let next = seed + STRIDE; !isSuitable(scenario); next += STRIDE) scenario = generate(next);
  return scenario;
}

function generate(seed: number): Scenario {
  const random = createSeededRandom(seed);
  const profile = pickProfile(random);
  const spanMs = Math.ceil(profile.spanMs * (0.3 + 0.7 * random()));
  const theme = pickTheme(random);
  const policy = { ...pickPolicy(random, profile), ...theme.policy(random) };
  const count = random.pick(theme.applications);
  const applications = Array.from({ length: count }, (_, index) =>
    generateApplication(random, { seed, index, spanMs, profile, theme }),
  );
  const isDurable = chance(random, 0.8);
  const processes = isDurable
    ? random.pick([['both'], ['both'], ['both', 'both'], ['enqueue', 'deliver']] as const)
    : (['both'] as const);
  const batches = generateBatches(random, { applications, policy, spanMs, theme });
  const busyMs = batches.map(({ atMs }) => atMs);
  return {
    seed,
    isDurable,
    processes,
    applications,
    policy,
    maxPendingMessages: chance(random, 0.1) ? random.integer(5, 40) : 100_000,
    lingerMs: chance(random, 0.15) ? random.pick([10, 200]) : 0,
    batches,
    plannedActions: planActions(random, {
      applications,
      processes,
      isDurable,
      spanMs,
      busyMs,
      theme,
    }),
    healedMs: spanMs,
    endsEarly: chance(random, 0.1),
    replaysAtEnd: chance(random, 0.5),
    maxRetryAfterMs: profile.maxRetryAfterMs,
  };
}

interface Surroundings {
  readonly seed: number;
  readonly index: number;
  readonly spanMs: number;
  readonly profile: Profile;
  readonly theme: Theme;
}

/** Indexed modulo 8: five of eight applications have a rate limit. */
const RATE_LIMITS: readonly FixedSettings[] = [
  {},
  { maxRequestsPerSecond: 3 },
  { maxMessagesPerSecond: 4.5 },
  {},
  { maxRequestsPerSecond: 40, maxMessagesPerSecond: 60 },
  { maxMessagesPerSecond: 0.4 },
  { maxRequestsPerSecond: 0.2 },
  {},
];

function generateApplication(random: SeededRandom, around: Surroundings): ApplicationScenario {
  const isRouted = chance(random, 0.2);
  return {
    id: `app-${around.index + 1}`,
    format: chance(random, 0.2) ? 1 : 2,
    phases: generatePhases(random, around),
    latencyMs: random.pick([1, 20, 80, 400]),
    poisonStatus: chance(random, around.theme.poisonProbability)
      ? random.pick([400, 422, 500] as const)
      : undefined,
    settings: {
      ...(isRouted
        ? { modules: { waf: true, bot: false }, playbooks: { 'Block IPs': chance(random, 0.5) } }
        : {}),
      ...RATE_LIMITS[(around.seed + around.index) % RATE_LIMITS.length],
    },
    hasSecretFunction: chance(random, 0.3),
  };
}

function generatePhases(random: SeededRandom, { spanMs, profile, theme }: Surroundings): Phase[] {
  // Some receivers never fail. Others must not delay their messages.
  const count = random.pick([0, 1, 1, 2, 3, 5]);
  const starts = times(random, count, spanMs);
  return starts.map((fromMs, index) => {
    const isGood = index % 2 === 1 && chance(random, 0.7);
    return {
      fromMs: index === 0 && chance(random, 0.5) ? 0 : fromMs,
      fault: isGood ? 'none' : random.pick(theme.faults),
      retryAfter: random.pick(['none', 'none', 'seconds', 'date', 'garbage'] as const),
      retryAfterMs: 1000 * Math.floor((profile.maxRetryAfterMs * random() ** 3) / 1000),
      limitBytes: random.pick([300, 900, 1500, 3000]),
    };
  });
}

interface Sent {
  readonly applications: readonly ApplicationScenario[];
  readonly policy: Policy;
  readonly spanMs: number;
  readonly theme: Theme;
}

function generateBatches(random: SeededRandom, sent: Sent): Batch[] {
  const { applications, policy, spanMs, theme } = sent;
  const poisoned = new Set<number>();
  return times(random, random.integer(3, 12), spanMs).map((atMs) => {
    const among = Array.from({ length: random.integer(1, theme.applicationsOfBatch) }, () =>
      random.integer(0, applications.length - 1),
    );
    const size = random.pick([1, 1, 3, 6, 12, 24]);
    const messages = Array.from({ length: size }, (): MessagePlan => {
      const application = random.pick(among);
      const canPoison = applications[application]?.poisonStatus !== undefined;
      const isPoison = canPoison && !poisoned.has(application) && chance(random, 0.3);
      if (isPoison) poisoned.add(application);
      const isSmall = policy.maxBodyBytes > 1500;
      return {
        application,
        kind: chance(random, 0.8)
          ? 'security_event'
          : random.pick(['security_response', 'http_scan'] as const),
        padBytes: chance(random, 0.02) && isSmall ? 'all' : random.integer(0, 300),
        isPoison,
        hasOwnId: chance(random, 0.5),
      };
    });
    return { atMs, messages, module: random.pick([undefined, undefined, 'waf', 'bot']) };
  });
}
