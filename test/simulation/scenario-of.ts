/** What a seed stands for where the queue is a real one: what such a queue cannot have is left out. */
import type { QueueKind } from './backing.ts';
import { generate } from './generate.ts';
import type { Scenario } from './scenario.ts';

/** Each step costs real time there. */
const MAX_SPAN_MS = 20 * 60_000;
/** From a world that does not fit to the next one: no two of the first million seeds meet. */
const STRIDE = 1_000_003;

const isFit = ({ isDurable, healedMs }: Scenario): boolean => isDurable && healedMs <= MAX_SPAN_MS;

export function scenarioOf(seed: number, kind: QueueKind): Scenario {
  if (kind === 'memory') return generate(seed);
  let scenario = generate(seed);
  for (let next = seed + STRIDE; !isFit(scenario); next += STRIDE) scenario = generate(next);
  return scenario;
}
