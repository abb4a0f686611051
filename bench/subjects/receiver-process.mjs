/** The receiver of messages, in a process of its own: see ../receiver.mjs. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** `host`: where it listens. */
export async function startReceiver(host = '127.0.0.1') {
  const child = fork(fileURLToPath(new URL('../receiver.mjs', import.meta.url)), [host], {
    // Not the parent's --expose-gc and the like.
    execArgv: [],
  });
  const answer = async () => (await once(child, 'message'))[0];
  const totals = () => {
    child.send('totals');
    return answer();
  };
  return {
    url: await answer(),
    totals,
    /** For senders that do not tell when theirs have been answered. */
    untilArrived: async (count) => {
      while ((await totals()).messages < count) await wait(1);
    },
    stop: () => child.disconnect(),
  };
}
