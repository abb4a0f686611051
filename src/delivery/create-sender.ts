/** `createWebhookSender`: makes a running engine from options. */
import type { Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import { createMemoryQueue } from '../queue/memory.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { newId } from '../runtime/id.ts';
import { maxOpenFiles } from '../runtime/open-files.ts';
import { type Random, systemRandom } from '../runtime/random.ts';
import { answeredInTime, listeningTogether } from '../runtime/timers.ts';
import { untraced } from '../runtime/untraced.ts';
import { createYield } from '../runtime/yield-to-event-loop.ts';
import { createSettings } from '../settings/source.ts';
import { createPoster, type Poster, type PosterOptions } from '../webhook/http/client.ts';
import { draftReader } from '../webhook/read-messages.ts';
import { initialState, isOfAnotherUrl } from './circuit-breaker.ts';
import { Delivery } from './deliver.ts';
import { Destinations } from './destination.ts';
import { Engine } from './engine.ts';
import { Enqueuer } from './enqueue.ts';
import { createObserver } from './events.ts';
import { Maintenance } from './maintenance.ts';
import type { WebhookSenderOptions } from './options.ts';
import { readSenderOptions, type SenderSettings } from './read-options.ts';
import { LastFailures } from './report.ts';
import { Scheduler } from './scheduler.ts';
import { sendTestMessage } from './send-test.ts';
import { type FollowingSender, SEND_EACH, type WebhookSender } from './sender.ts';
import { flushBeforeExit, Shutdown } from './shutdown.ts';
import { Slots, withinOpenFiles } from './slots.ts';
import { Tracker } from './tracker.ts';

/**
 * Creates a sender that delivers in the background, at least once, until it is closed. It starts at once with the
 * messages that wait in a durable queue.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`, `ERR_INVALID_URL`, `ERR_INVALID_SECRET`, `ERR_ADDRESS_REFUSED` or
 * `ERR_SETTINGS_FAILED`; its `path` names what is at fault.
 */
export function createWebhookSender<D extends Dialect = 'strict'>(
  options: WebhookSenderOptions<D>,
): WebhookSender<D> {
  const system = {
    clock: systemClock,
    random: systemRandom,
    newId,
    createPoster,
    maxOpenFiles: maxOpenFiles(),
  };
  return makeSender(options, system) as WebhookSender<D>;
}

/** What a sender needs from the process. */
export interface SenderSystem {
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: () => string;
  readonly createPoster: (options: PosterOptions) => Poster;
  /** Number of files and sockets that the process may have open. */
  readonly maxOpenFiles: number;
}

/** Runs everything untraced: the sender may be created and called within traced requests that it outlives. */
export function makeSender(
  options: unknown,
  system: SenderSystem,
): WebhookSender & FollowingSender {
  return untracedSender(untraced(() => makeEngine(options, system)));
}

function makeEngine(options: unknown, system: SenderSystem): Engine {
  const core = makeCore(readSenderOptions(options), system);
  const { settings, clock, tracker } = core;
  const dispatch = makeDispatch(core);
  const shutdown: Shutdown = new Shutdown({
    ...core,
    drain: dispatch.drain,
    isInFlight: dispatch.isInFlight,
    disconnect: () => core.wire.poster.close(),
    stop: async () => {
      stopBeforeExit();
      await dispatch.stop();
    },
  });
  const stopBeforeExit = flushBeforeExit({
    budgetMs: settings.flushBeforeExitMs,
    clock,
    acceptedCount: () => tracker.acceptedCount,
    pending: () => tracker.pending,
    flush: (signal) => shutdown.flush({ signal }),
  });
  // Builds the schemas now: it takes milliseconds that would delay the first `send`, and zod fails once a prototype is
  // polluted.
  if (settings.role !== 'deliver') draftReader(settings.dialect).safeParse(undefined);
  if (core.isDelivering) dispatch.start();
  const intake = { ...settings, ...settings.policy, newId: system.newId };
  const test = { ...intake, ...core.wire, destinations: core.destinations };
  const enqueuer = new Enqueuer({
    ...core,
    find: settings.isSettingsFunction ? answeredInTime(core.find, core.wire) : core.find,
    intake,
    delayMs: settings.lingerMs,
    hasNewUrl: dispatch.hasNewUrl,
  });
  return new Engine({
    ...core,
    enqueuer,
    shutdown,
    attempts: dispatch.attempts,
    sendTest: (applicationId) => sendTestMessage(applicationId, test),
  });
}

type Core = ReturnType<typeof makeCore>;

/** What intake and delivery share. */
function makeCore(settings: SenderSettings, system: SenderSystem) {
  const { clock } = system;
  const { find } = createSettings(settings.source);
  const senderId = system.newId();
  const isDelivering = settings.role !== 'enqueue';
  const queue = settings.queue ?? createMemoryQueue(settings.memory, clock);
  const tracker = new Tracker(isDelivering);
  const stopping = new AbortController();
  const { network } = settings.wire;
  const { maxIdleConnections, ...slots } = withinOpenFiles(settings.slots, system.maxOpenFiles);
  const poster = system.createPoster({
    ...settings.wire,
    clock,
    signal: stopping.signal,
    maxIdleConnections,
  });
  const stop = { signal: stopping.signal, listen: listeningTogether(stopping.signal) };
  return {
    ...system,
    settings,
    find,
    destinations: new Destinations({ find, network, clock, ...stop }),
    isDelivering,
    queue,
    stopping,
    wire: { poster, clock, headers: settings.headers, ...stop },
    ready: opener(async () => tracker.setBacklog(await queue.open(initialState(settings.policy)))),
    observe: createObserver(senderId),
    tracker,
    lastFailures: new LastFailures(),
    slots: new Slots(slots),
    yieldToEventLoop: createYield(clock),
  };
}

interface Dispatch {
  readonly start: () => void;
  readonly stop: () => Promise<void>;
  readonly drain: (untilMs: number, signal: AbortSignal) => Promise<void>;
  readonly isInFlight: () => boolean;
  readonly attempts: () => number;
  readonly hasNewUrl: (applicationId: string) => Promise<boolean>;
}

/** Makes the parts that claim, deliver and maintain. */
function makeDispatch(core: Core): Dispatch {
  const { settings, queue, destinations, stopping, wire, isDelivering } = core;
  const hasNewUrl = async (applicationId: string): Promise<boolean> => {
    const state = await queue.applicationState(applicationId);
    const destination = await destinations.resolve(applicationId);
    if (state === undefined || typeof destination === 'string') return false;
    return isOfAnotherUrl(state, destination.urlHash);
  };
  const parts = { ...settings, ...core };
  const scheduler: Scheduler = new Scheduler({
    ...parts,
    deliver: (held) => delivery.deliver(held),
  });
  const wake = (): void => scheduler.wake();
  const maintenance = new Maintenance({ ...parts, ...maintenanceTimes(settings), hasNewUrl, wake });
  const delivery = new Delivery({
    ...parts,
    ...wire,
    onWaiting: wake,
    onClosed: (applicationId) => maintenance.closeApplication(applicationId),
  });
  const stopListening = isDelivering ? queue.onDue(wake) : nothing;
  return {
    start: () => {
      scheduler.start();
      maintenance.start();
    },
    stop: async () => {
      stopping.abort();
      stopListening();
      // In this order: the last attempt may close a destination, whose messages maintenance then makes dead letters.
      await scheduler.stop();
      await maintenance.stop();
    },
    drain: async (untilMs, signal) => {
      if (isDelivering) await scheduler.drain(untilMs, signal);
    },
    isInFlight: () => scheduler.isInFlight,
    attempts: () => delivery.attempts,
    hasNewUrl,
  };
}

function maintenanceTimes({ policy, maintenanceIntervalMs, stalledAfterMs }: SenderSettings) {
  return { horizonMs: policy.schedule.horizonMs, everyMs: maintenanceIntervalMs, stalledAfterMs };
}

const nothing = (): void => {};

/**
 * Returns a function that opens the queue on its first call. It returns `undefined` when the queue is open. Its promise
 * rejects with a SecurityEventError; then the next call tries again.
 */
function opener(openOnce: () => Promise<void>): () => Promise<void> | undefined {
  let opened: Promise<void> | undefined;
  let isOpen = false;
  const open = async (): Promise<void> => {
    opened ??= openOnce().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    await opened.catch((cause: unknown) => {
      // A copy for each caller, since the error of `send` holds the messages of its call.
      if (cause instanceof SecurityEventError) throw cause.copy();
      throw new SecurityEventError('ERR_QUEUE_FAILED', { cause });
    });
    isOpen = true;
  };
  return () => (isOpen ? undefined : open());
}

/** Runs each method untraced. */
export function untracedSender(
  sender: WebhookSender & FollowingSender,
): WebhookSender & FollowingSender {
  const close: WebhookSender['close'] = (...call) => untraced(() => sender.close(...call));
  return {
    send: (...call) => untraced(() => sender.send(...call)),
    [SEND_EACH]: (messages, selection) => untraced(() => sender[SEND_EACH](messages, selection)),
    sendTest: (...call) => untraced(() => sender.sendTest(...call)),
    stats: () => untraced(() => sender.stats()),
    deadLetters: (...call) => untraced(() => sender.deadLetters(...call)),
    replay: (...call) => untraced(() => sender.replay(...call)),
    purge: (...call) => untraced(() => sender.purge(...call)),
    reopen: (...call) => untraced(() => sender.reopen(...call)),
    flush: (...call) => untraced(() => sender.flush(...call)),
    close,
    [Symbol.asyncDispose]: async () => {
      await close();
    },
  };
}
