/** Simulates many worlds, for tests. */
import { type MakeBackend, memoryBackend } from './queue-backend.ts';
import { simulate } from './simulation.ts';

export interface WorldsResult {
  /** One line for each violation. */
  readonly failures: readonly string[];
  readonly crashes: number;
}

/** Simulates the worlds 1 to `count`, `atOnce` at a time. */
export async function simulateWorlds(
  count: number,
  makeBackend: MakeBackend = memoryBackend,
  atOnce = 1,
): Promise<WorldsResult> {
  const seeds = Array.from({ length: count }, (_, index) => index + 1);
  const failures: string[] = [];
  let crashes = 0;
  const work = async (): Promise<void> => {
    for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
      const outcome = await simulate(seed, { makeBackend });
      crashes += outcome.crashes;
      if (outcome.violation === undefined) continue;
      const { invariant, detail } = outcome.violation;
      const command = `npm run simulate -- --queue ${makeBackend.kind} --seed ${seed}`;
      failures.push(`${invariant}: ${detail}; to repeat it: ${command}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return { failures, crashes };
}
