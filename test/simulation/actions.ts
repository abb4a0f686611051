/** Executes the planned actions of a world. */

import { watchClose, watchFlush } from './check-flush-and-close.ts';
import { chance } from './random-choices.ts';
import type { PlannedAction } from './scenario.ts';
import type { SenderProcess } from './sender-process.ts';
import { clearFault } from './settings.ts';
import type { Simulation } from './simulation.ts';

type Kind = PlannedAction['kind'];
type Action<K extends Kind> = (
  simulation: Simulation,
  action: Extract<PlannedAction, { kind: K }>,
) => void;

const ACTIONS: { readonly [K in Kind]: Action<K> } = {
  crash: (simulation, { process: index, isMidAttempt, downMs }) => {
    midAttempt(simulation, { index, isMidAttempt }, (process) => {
      process.crash();
      simulation.startLater(index, downMs);
    });
  },
  close: (simulation, { process: index, isMidAttempt, downMs, deadlineMs }) => {
    midAttempt(simulation, { index, isMidAttempt }, (process) => {
      void watchClose(simulation.world, process, deadlineMs).then(() =>
        simulation.startLater(index, downMs),
      );
    });
  },
  flush: ({ world, running }, { process: index, budgetMs }) => {
    const process = running[index];
    if (process?.isAccepting === true) void watchFlush(world, process, budgetMs);
  },
  'new-url': ({ world, settingsAt }, { application }) => {
    const settings = settingsAt(application);
    settings.url = `${settings.url.slice(0, settings.url.lastIndexOf('/'))}/${world.sinceStartMs}`;
    world.log(() => `${settings.plan.id} has the URL ${settings.url}`);
  },
  'new-secret': ({ world, settingsAt }, { application }) => {
    const settings = settingsAt(application);
    settings.secret = `secret-${world.sinceStartMs}`;
  },
  'new-format': ({ settingsAt }, { application }) => {
    const settings = settingsAt(application);
    settings.format = settings.format === 1 ? 2 : 1;
  },
  settings: ({ world, settingsAt }, { application, how, forMs }) => {
    const settings = settingsAt(application);
    clearFault(settings);
    settings.fault = how;
    world.log(() => `${settings.plan.id}: ${how} for ${forMs} ms`);
    void world.clock.sleep(forMs).then(() => {
      if (settings.fault === how) clearFault(settings);
    });
  },
  'slow-settings': ({ world }, { delayMs, forMs }) => {
    world.slowSettingsMs = delayMs;
    void world.clock.sleep(forMs).then(() => {
      world.slowSettingsMs = 0;
    });
  },
  queue: ({ world }, { how, forMs }) => {
    world.queueFault = how;
    world.unstableUntil = Math.max(world.unstableUntil, world.now + forMs + QUEUE_RETRY_MS);
    world.log(() => `the queue ${how} for ${forMs} ms`);
    world.occurredFaults.add(how);
    void world.clock.sleep(forMs).then(() => {
      if (world.queueFault === how) world.queueFault = undefined;
    });
  },
  clock: ({ world }, { byMs }) => {
    world.log(() => `the wall clock jumps by ${byMs} ms`);
    world.clock.setWallClock(world.clock.now() + byMs);
    // SQLite has no other clock.
    if (world.queueKind === 'sqlite') world.shiftQueueTime(byMs);
  },
  reopen: (simulation, { application }) => {
    const { id } = simulation.settingsAt(application).plan;
    callAny(simulation, (process) => process.call((sender) => sender.reopen(id)));
  },
  replay: (simulation) =>
    callAny(simulation, (process) => process.call((sender) => sender.replay())),
  purge: (simulation) => callAny(simulation, (process) => process.call((sender) => sender.purge())),
};

/** Maximum time until the engine calls a failed queue again, including jitter. */
const QUEUE_RETRY_MS = 40_000;

export function perform(simulation: Simulation, planned: PlannedAction): void {
  const action = ACTIONS[planned.kind] as Action<Kind>;
  action(simulation, planned);
}

function midAttempt(
  { world, running }: Simulation,
  { index, isMidAttempt }: { readonly index: number; readonly isMidAttempt: boolean },
  end: (process: SenderProcess) => void,
): void {
  const process = running[index];
  if (process?.isDelivering !== true || !isMidAttempt) {
    if (process?.isAlive === true && !process.isClosing) end(process);
    return;
  }
  const endIfOpen = (): void => {
    if (process.isAlive && !process.isClosing) end(process);
  };
  if (chance(world.random, 0.2)) {
    process.onNext.set('claim', endIfOpen);
    return;
  }
  const ms = chance(world.random, 0.3) ? 0 : world.random.integer(1, 100);
  process.onNext.set('attempt', () => void world.clock.sleep(ms).then(endIfOpen));
}

/** Runs the call on the first running process. The call rejects if its queue fails. */
function callAny(
  { running }: Simulation,
  work: (process: SenderProcess) => Promise<unknown>,
): void {
  const process = running.find((one) => one?.isAlive === true && !one.isClosing);
  if (process !== undefined) void work(process).catch(() => {});
}
