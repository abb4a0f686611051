/** Chooses the scenario of a seed. Skips scenarios that the kind of queue cannot run. */

import { generate } from './generate.ts';
import type { QueueKind } from './queue-backend.ts';
import type { Scenario } from './scenario.ts';

/** Each step on a real queue costs real time. */
const MAX_SPAN_MS = 20 * 60_000;
/** Distance to the next seed to try. More than a million, so that the first million seeds stay distinct. */
const STRIDE = 1_000_003;

const isSuitable = ({ isDurable, healedMs }: Scenario): boolean =>
  isDurable && healedMs <= MAX_SPAN_MS;

export function chooseScenario(seed: number, kind: QueueKind): Scenario {
  if (kind === 'memory') return generate(seed);
  let scenario = generate(seed);
  for (let next = seed + STRIDE; !isSuitable(scenario); next += STRIDE) scenario = generate(next);
  return scenario;
}
