/** Bugs in a sender's intake, events, waits, flush and close. */
import type { Mutation } from './mutation.ts';

const FOLDER = 'delivery';

export const SENDER_MUTATIONS: readonly Mutation[] = [
  {
    name: 'a message_id of the caller is replaced',
    file: `${FOLDER}/intake.ts`,
    from: 'const { messageId = rules.newId(), application',
    to: 'const messageId = rules.newId();\n    const { application',
    invariant: 'send-result',
    withinSeeds: 20,
  },
  {
    name: 'the scheduler never waits',
    file: `${FOLDER}/scheduler.ts`,
    from: 'await this.#timer.wait(Math.min(waitMs, MAX_WAIT_MS));',
    to: 'continue;',
    invariant: 'progress',
    withinSeeds: 5,
  },
  {
    name: 'waiting for a retry keeps the process alive',
    file: 'runtime/timers.ts',
    from: "startTimer(ms, expire, 'unref')",
    to: "startTimer(ms, expire, 'ref')",
    invariant: 'process-can-exit',
    withinSeeds: 20,
  },
  {
    name: 'flush counts messages that were accepted after it',
    file: `${FOLDER}/tracker.ts`,
    from: 'if (epoch > watch.epoch) continue;',
    to: '',
    invariant: 'flush',
    withinSeeds: 500,
  },
  {
    name: 'a timer outlives its attempt',
    file: `${FOLDER}/deliver.ts`,
    from: 'stopLateTimer();\n    const finished',
    to: 'const finished',
    invariant: 'nothing-after-close',
    withinSeeds: 50,
  },
  {
    name: 'close exceeds its deadline',
    file: `${FOLDER}/lifecycle.ts`,
    from: 'clock.sleep(deadlineMs, done.signal)',
    to: 'clock.sleep(2 * deadlineMs, done.signal)',
    invariant: 'close-report',
    withinSeeds: 200,
  },
  {
    name: 'returned messages report 0 sends',
    file: `${FOLDER}/sender.ts`,
    from: 'this.sends = sends;',
    to: 'this.sends = 0;',
    invariant: 'close-report',
    withinSeeds: 200,
  },
  {
    name: 'an attempt is not published',
    file: `${FOLDER}/deliver.ts`,
    from: "observe('attempt-started', () => started);",
    to: '',
    invariant: 'events',
    withinSeeds: 5,
  },
];
