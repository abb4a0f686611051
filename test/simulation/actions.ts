/** What happens to a world, carried out. */
import { chance } from './chance.ts';
import { watchClose, watchFlush } from './check-ends.ts';
import type { Happening } from './scenario.ts';
import type { SenderProcess } from './sender-process.ts';
import { mend } from './settings.ts';
import type { Simulation } from './simulation.ts';

type Kind = Happening['kind'];
type Action<K extends Kind> = (
  simulation: Simulation,
  happening: Extract<Happening, { kind: K }>,
) => void;

const ACTIONS: { readonly [K in Kind]: Action<K> } = {
  crash: (simulation, { process: place, isMidAttempt, downMs }) => {
    midAttempt(simulation, { place, isMidAttempt }, (process) => {
      process.crash();
      simulation.startLater(place, downMs);
    });
  },
  close: (simulation, { process: place, isMidAttempt, downMs, deadlineMs }) => {
    midAttempt(simulation, { place, isMidAttempt }, (process) => {
      void watchClose(simulation.world, process, deadlineMs).then(() =>
        simulation.startLater(place, downMs),
      );
    });
  },
  flush: ({ world, running }, { process: place, budgetMs }) => {
    const process = running[place];
    if (process?.isAccepting === true) void watchFlush(world, process, budgetMs);
  },
  'new-url': ({ world, of }, { application }) => {
    const settings = of(application);
    settings.url = `${settings.url.slice(0, settings.url.lastIndexOf('/'))}/${world.sinceStartMs}`;
    world.tell(() => `${settings.plan.id} has the URL ${settings.url}`);
    world.meet(settings.plan.id, 'new-url');
  },
  'new-secret': ({ world, of }, { application }) => {
    const settings = of(application);
    settings.secret = `secret-${world.sinceStartMs}`;
    world.meet(settings.plan.id, 'new-secret');
  },
  'new-format': ({ world, of }, { application }) => {
    const settings = of(application);
    settings.format = settings.format === 1 ? 2 : 1;
    world.meet(settings.plan.id, 'new-format');
  },
  settings: ({ world, of }, { application, how, forMs }) => {
    const settings = of(application);
    mend(settings);
    settings.fault = how;
    world.tell(() => `${settings.plan.id}: ${how} for ${forMs} ms`);
    void world.clock.sleep(forMs).then(() => {
      if (settings.fault === how) mend(settings);
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
    world.troubledUntil = Math.max(world.troubledUntil, world.now + forMs + QUEUE_TROUBLE_MS);
    world.tell(() => `the queue ${how} for ${forMs} ms`);
    for (const { id } of world.scenario.applications) world.meet(id, how);
    void world.clock.sleep(forMs).then(() => {
      if (world.queueFault === how) world.queueFault = undefined;
    });
  },
  clock: ({ world }, { byMs }) => {
    world.tell(() => `the wall clock jumps by ${byMs} ms`);
    world.clock.setWallClock(world.clock.now() + byMs);
    for (const { id } of world.scenario.applications) world.meet(id, 'clock-set');
    if (world.backing.isOnWallClock === true) world.shiftQueueTime(byMs);
  },
  reopen: (simulation, { application }) => {
    const { id } = simulation.of(application).plan;
    ask(simulation, (process) => process.call((sender) => sender.reopen(id)));
  },
  replay: (simulation) => ask(simulation, (process) => process.call((sender) => sender.replay())),
  purge: (simulation) => ask(simulation, (process) => process.call((sender) => sender.purge())),
};

/** A queue that failed is asked again after up to this time, jitter included. */
const QUEUE_TROUBLE_MS = 40_000;

export function happen(simulation: Simulation, happening: Happening): void {
  const action = ACTIONS[happening.kind] as Action<Kind>;
  action(simulation, happening);
}

function midAttempt(
  { world, running }: Simulation,
  { place, isMidAttempt }: { readonly place: number; readonly isMidAttempt: boolean },
  end: (process: SenderProcess) => void,
): void {
  const process = running[place];
  if (process?.isDelivering !== true || !isMidAttempt) {
    if (process?.isAlive === true && !process.isClosing) end(process);
    return;
  }
  const endIt = (): void => {
    if (process.isAlive && !process.isClosing) end(process);
  };
  if (chance(world.random, 0.2)) {
    process.onNextClaim = endIt;
    return;
  }
  const ms = chance(world.random, 0.3) ? 0 : world.random.integer(1, 100);
  process.onNextAttempt = () => {
    void world.clock.sleep(ms).then(endIt);
  };
}

/** By whichever process is there; one whose queue fails says so. */
function ask({ running }: Simulation, work: (process: SenderProcess) => Promise<unknown>): void {
  const process = running.find((one) => one?.isAlive === true && !one.isClosing);
  if (process !== undefined) void work(process).catch(() => {});
}
