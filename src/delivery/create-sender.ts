/** `createWebhookSender`: makes a running sender from options. */
import type { Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import { createMemoryQueue } from '../queue/memory.ts';
import { systemClock } from '../runtime/clock.ts';
import { newId } from '../runtime/id.ts';
import { maxOpenFiles } from '../runtime/open-files.ts';
import { systemRandom } from '../runtime/random.ts';
import { shareAbortListener, withSettingsTimeout } from '../runtime/timers.ts';
import { untraced } from '../runtime/untraced.ts';
import { createYield } from '../runtime/yield-to-event-loop.ts';
import { createSettings } from '../settings/source.ts';
import { createPoster } from '../webhook/http/client.ts';
import { messageReader } from '../webhook/read-messages.ts';
import { initialState } from './circuit-breaker.ts';
import { Delivery } from './deliver.ts';
import { Destinations } from './destination.ts';
import { Enqueuer } from './enqueue.ts';
import { createObserver } from './events.ts';
import { flushBeforeExit } from './flush-before-exit.ts';
import { Lifecycle } from './lifecycle.ts';
import { Maintenance } from './maintenance.ts';
import type { WebhookSenderOptions } from './options.ts';
import { readSenderOptions, type SenderSettings } from './read-options.ts';
import { reopener } from './reopen.ts';
import { LastFailures } from './report.ts';
import { Scheduler } from './scheduler.ts';
import { sendTestMessage } from './send-test.ts';
import type { SendSystem } from './send-webhook.ts';
import type { InternalSender, WebhookSender } from './sender.ts';
import { SenderMethods } from './sender-methods.ts';
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
export interface SenderSystem extends SendSystem {
  /** Number of files and sockets that the process may have open. */
  readonly maxOpenFiles: number;
}

/** Makes a sender that runs untraced: it may be created and called in a traced request, and outlives that request. */
export function makeSender(options: unknown, system: SenderSystem): Sender {
  return untracedSender(untraced(() => makeMethods(options, system)));
}

function makeMethods(options: unknown, system: SenderSystem): SenderMethods {
  const core = makeCore(readSenderOptions(options), system);
  const dispatch = makeDispatch(core);
  const lifecycle: Lifecycle = new Lifecycle({
    ...core,
    drain: dispatch.drain,
    isInFlight: dispatch.isInFlight,
    disconnect: () => core.poster.close(),
    stop: async () => {
      stopBeforeExit();
      await dispatch.stop();
    },
  });
  const stopBeforeExit = flushBeforeExit({
    ...core,
    flush: (signal) => lifecycle.flush({ signal }),
  });
  // Builds the schemas now: it takes milliseconds that would delay the first `send`, and zod fails once a prototype is
  // polluted.
  if (core.role !== 'deliver') messageReader(core.dialect).safeParse(undefined);
  if (core.isDelivering) dispatch.start();
  const enqueuer = new Enqueuer({
    ...core,
    find: core.isSettingsFunction ? withSettingsTimeout(core.find, core.timeLimit) : core.find,
    reopenIfMoved: dispatch.reopenIfMoved,
  });
  return new SenderMethods({
    ...core,
    enqueuer,
    lifecycle,
    attempts: dispatch.attempts,
    sendTest: (applicationId) => sendTestMessage(applicationId, core),
  });
}

type Core = ReturnType<typeof makeCore>;

/** Makes what intake and delivery share. */
function makeCore(settings: SenderSettings, system: SenderSystem) {
  const { clock } = system;
  const { find } = createSettings(settings.source);
  const senderId = system.newId();
  const isDelivering = settings.role !== 'enqueue';
  const queue = settings.queue ?? createMemoryQueue(settings.memory, clock);
  const tracker = new Tracker(isDelivering);
  const stopping = new AbortController();
  const { maxIdleConnections, ...slots } = withinOpenFiles(settings.slots, system.maxOpenFiles);
  const { signal } = stopping;
  const poster = system.createPoster({
    ...settings.http,
    clock,
    signal,
    maxIdleConnections,
  });
  const timeLimit = { clock, signal, listen: shareAbortListener(signal) };
  return {
    ...settings,
    ...settings.policy,
    ...system,
    ...timeLimit,
    timeLimit,
    find,
    destinations: new Destinations({
      ...timeLimit,
      find,
      network: settings.http.network,
      isSettingsFunction: settings.isSettingsFunction,
    }),
    isDelivering,
    queue,
    stopping,
    poster,
    ...opener(async () => tracker.setBacklog(await queue.open(initialState(settings.policy)))),
    observe: createObserver(senderId),
    tracker,
    lastFailures: new LastFailures(),
    slots: new Slots(slots),
    yieldToEventLoop: createYield(clock),
  };
}

/** Makes the parts that claim, deliver and maintain. */
function makeDispatch(core: Core) {
  const { queue, destinations, stopping, isDelivering, tracker } = core;
  const reopenIfMoved = reopener(queue, destinations);
  const scheduler: Scheduler = new Scheduler({
    ...core,
    deliver: (held) => delivery.deliver(held),
  });
  const wake = (): void => scheduler.wake();
  const maintenance = new Maintenance({ ...core, reopenIfMoved, wake });
  const delivery = new Delivery({
    ...core,
    onSlotFree: wake,
    onClosed: (applicationId) => maintenance.deadLetterClosed(applicationId),
  });
  const stopListening = isDelivering ? queue.onDue(wake) : () => {};
  return {
    start: () => {
      scheduler.start();
      void tracker.opened.then(() => maintenance.start());
    },
    stop: async () => {
      stopping.abort();
      stopListening();
      // In this order: the last attempt may close a destination, whose messages maintenance then makes dead letters.
      await scheduler.stop();
      await maintenance.stop();
    },
    drain: async (untilMs: number, signal: AbortSignal) => {
      if (isDelivering) await scheduler.drain(untilMs, signal);
    },
    isInFlight: () => scheduler.isInFlight,
    attempts: () => delivery.attempts,
    reopenIfMoved,
  };
}

/**
 * The first call of `ready` opens the queue with `open`. Once the queue is open, `ready` returns `undefined`. If `open`
 * fails, the promise rejects with a SecurityEventError, and the next call opens the queue again. `openFailure` returns
 * the last error while the queue is not open.
 */
function opener(open: () => Promise<void>) {
  let opening: Promise<void> | undefined;
  let isOpen = false;
  let failure: SecurityEventError | undefined;
  // A copy for each caller, since the error of `send` holds the messages of its call.
  const openFailure = () => (isOpen ? undefined : failure?.copy());
  const onOpen = (): void => {
    isOpen = true;
  };
  const onFailure = (cause: unknown): void => {
    opening = undefined;
    const isOurs = cause instanceof SecurityEventError;
    failure = isOurs ? cause : new SecurityEventError('ERR_QUEUE_FAILED', { cause });
  };
  const waitForOpening = async (): Promise<void> => {
    opening ??= open().then(onOpen, onFailure);
    await opening;
    const error = openFailure();
    if (error !== undefined) throw error;
  };
  return { ready: () => (isOpen ? undefined : waitForOpening()), openFailure };
}

type Sender = WebhookSender & InternalSender;

/** Runs each method untraced. */
export function untracedSender(sender: Sender): Sender {
  const method = <Name extends keyof Sender>(name: Name): Sender[Name] => {
    const inner = sender[name] as (...call: unknown[]) => unknown;
    // `bind`, since a function of our own would be one more frame in stack traces of errors.
    const outer = (...call: unknown[]) => untraced(inner.bind(sender, ...call));
    return outer as unknown as Sender[Name];
  };
  const names = Reflect.ownKeys(SenderMethods.prototype) as (keyof Sender)[];
  const methods = names.filter((name) => name !== ('constructor' as never));
  return Object.fromEntries(methods.map((name) => [name, method(name)])) as unknown as Sender;
}
