/** Bugs in a sender as a whole: what it takes in, what it tells, when it waits and how it ends. */
import type { Mutation } from './mutation.ts';

const FOLDER = 'delivery';

export const SENDER_MUTATIONS: readonly Mutation[] = [
  {
    name: 'an own message_id is not kept',
    file: `${FOLDER}/intake.ts`,
    from: 'const { messageId = rules.newId(), application',
    to: 'const messageId = rules.newId();\n    const { application',
    by: 'send-result',
    withinSeeds: 20,
  },
  {
    name: 'playbooks are looked for among the modules',
    file: 'settings/routing.ts',
    from: 'isSelected(playbooks, slug)',
    to: 'isSelected(modules, slug)',
    by: 'send-result',
    withinSeeds: 50,
  },
  {
    name: 'a scheduler that never waits',
    file: `${FOLDER}/scheduler.ts`,
    from: 'await this.#timer.wait(Math.min(waitMs, MAX_WAIT_MS));',
    to: '',
    by: 'no-standstill',
    withinSeeds: 5,
  },
  {
    name: 'waiting for a retry keeps the process alive',
    file: 'runtime/timers.ts',
    from: "startTimer(ms, ring, 'let-end')",
    to: "startTimer(ms, ring, 'keep-alive')",
    by: 'not-held-open',
    withinSeeds: 20,
  },
  {
    name: 'flush counts what was accepted after it',
    file: `${FOLDER}/settled-messages.ts`,
    from: 'if (epoch > watch.epoch) continue;',
    to: '',
    by: 'flush',
    withinSeeds: 500,
  },
  {
    name: 'a timer outlives its attempt',
    file: `${FOLDER}/deliver.ts`,
    from: 'stopLateTimer();\n    const now',
    to: 'const now',
    by: 'nothing-after-end',
    withinSeeds: 50,
  },
  {
    name: 'close takes its time',
    file: `${FOLDER}/shutdown.ts`,
    from: 'clock.sleep(deadlineMs, done.signal)',
    to: 'clock.sleep(2 * deadlineMs, done.signal)',
    by: 'close-report',
    withinSeeds: 200,
  },
  {
    name: 'what is handed back was never sent',
    file: `${FOLDER}/sender.ts`,
    from: 'this.sends = sends;',
    to: 'this.sends = 0;',
    by: 'close-report',
    withinSeeds: 200,
  },
  {
    name: 'an attempt is not told',
    file: `${FOLDER}/deliver.ts`,
    from: "observe('attempt-started', () => started);",
    to: '',
    by: 'events',
    withinSeeds: 5,
  },
];
