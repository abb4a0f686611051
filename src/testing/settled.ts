import { nextTurn } from '../runtime/yield-to-event-loop.ts';

const MAX_TURNS = 100;

/**
 * Waits until everything has settled that needs no time. One turn of the event loop empties the queues of
 * promises and ticks; more turns are for immediates that were set meanwhile.
 */
export async function settled(): Promise<void> {
  let turns = 0;
  do {
    await nextTurn();
    turns += 1;
  } while (turns < MAX_TURNS && process.getActiveResourcesInfo().includes('Immediate'));
}
