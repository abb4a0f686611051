/** Runs simulated worlds whose queue is a real one. */
import type { MakeBacking } from './backing.ts';
import { type Outcome, simulate } from './simulation.ts';

/** How many seeds may pass before a planted flaw of a queue has to be found. */
const SEEDS_TO_FIND = 20;

/** Runs the worlds of seeds 1 to `seeds`, several at a time: a world mostly waits for its queue. */
export async function runWorlds(
  makeBacking: MakeBacking,
  { seeds, atATime }: { readonly seeds: number; readonly atATime: number },
): Promise<Outcome[]> {
  const waiting = Array.from({ length: seeds }, (_, index) => index + 1);
  const outcomes: Outcome[] = [];
  const work = async (): Promise<void> => {
    for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
      outcomes.push(await simulate(seed, { makeBacking }));
    }
  };
  await Promise.all(Array.from({ length: atATime }, work));
  return outcomes;
}

/** One line for each world that broke an invariant, with the command that repeats it. */
export const failuresOf = (outcomes: readonly Outcome[], queue: string): string[] =>
  outcomes.flatMap(({ seed, violation }) =>
    violation === undefined
      ? []
      : [
          `${violation.invariant}: ${violation.detail}; to repeat it: npm run simulate -- --queue ${queue} --seed ${seed}`,
        ],
  );

/** Returns the invariant that the first failing world broke. */
export async function findFlaw(makeBacking: () => MakeBacking): Promise<string | undefined> {
  for (let seed = 1; seed <= SEEDS_TO_FIND; seed += 1) {
    const { violation } = await simulate(seed, { makeBacking: makeBacking() });
    if (violation !== undefined) return violation.invariant;
  }
  return undefined;
}
