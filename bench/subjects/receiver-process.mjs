/** Starts the receiver (../receiver.mjs) in another process. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** `credentials`: key and certificate for TLS. */
export async function startReceiver(host = '127.0.0.1', credentials) {
  const program = fileURLToPath(new URL('../receiver.mjs', import.meta.url));
  const args = credentials === undefined ? [host] : [host, JSON.stringify(credentials)];
  const child = fork(program, args, {
    // Without the parent's --expose-gc and other flags.
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
    /** For senders that do not report when their messages are answered. */
    untilArrived: async (count) => {
      while ((await totals()).messages < count) await wait(1);
    },
    stop: () => child.disconnect(),
  };
}
