/** `createWebhookSender`: from options to a running engine. */
import { type Dialect, messageToSend } from '../../contract/index.ts';
import { SecurityEventError } from '../../errors.ts';
import { readMemoryOptions } from '../../queue/memory/memory-options.ts';
import { MemoryQueue } from '../../queue/memory/memory-queue.ts';
import type { MessageQueue } from '../../queue/queue.ts';
import { createSettings } from '../../settings/source.ts';
import { type Clock, systemClock } from '../../system/clock.ts';
import { givingWay } from '../../system/giving-way.ts';
import { newId } from '../../system/id.ts';
import { type Random, systemRandom } from '../../system/random.ts';
import { createPoster, type Poster, type PosterOptions } from '../wire/post.ts';
import { findDestination } from './attempt.ts';
import { flushBeforeExit } from './before-exit.ts';
import { Delivery } from './delivery.ts';
import { Engine } from './engine.ts';
import { inTime } from './in-time.ts';
import { hashOfUrl, isOfAnotherUrl, untriedRow } from './lane.ts';
import { Lifecycle } from './lifecycle.ts';
import { createObserver } from './observe.ts';
import type { WebhookSenderOptions } from './options.ts';
import { readSenderOptions, type SenderSettings } from './read-options.ts';
import { Scheduler } from './scheduler.ts';
import { sendTestMessage } from './send-test.ts';
import type { WebhookSender } from './sender.ts';
import { Slots } from './slots.ts';
import { Tracker } from './tracker.ts';
import { Upkeep } from './upkeep.ts';

/**
 * Makes a sender that delivers in the background, at least once, until it is closed. It starts at
 * once; what waits in a durable queue is delivered without a call.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`, `ERR_INVALID_URL`, `ERR_INVALID_SECRET` or
 * `ERR_SETTINGS_FAILED`; its `path` names what is at fault.
 */
export function createWebhookSender<D extends Dialect = 'strict'>(
  options: WebhookSenderOptions<D>,
): WebhookSender<D> {
  const system = { clock: systemClock, random: systemRandom, newId, createPoster };
  return makeSender(options, system) as WebhookSender as WebhookSender<D>;
}

/** What a sender needs of the world. */
export interface SenderSystem {
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: () => string;
  readonly createPoster: (options: PosterOptions) => Poster;
}

export function makeSender(options: unknown, system: SenderSystem): WebhookSender {
  const settings = readSenderOptions(options);
  const { find } = createSettings(settings.source);
  const { clock } = system;
  const senderId = system.newId();
  const observe = createObserver(senderId);
  const isDelivering = settings.role !== 'enqueue';
  const tracker = new Tracker(senderId, isDelivering);
  const slots = new Slots(settings.slots);
  const queue = settings.queue ?? new MemoryQueue(readMemoryOptions(settings.memory), clock);
  const ready = opener(queue, settings);
  const stopping = new AbortController();
  const poster = system.createPoster({ ...settings.wire, clock });
  const wire = { poster, clock, headers: settings.headers, signal: stopping.signal };
  const hasMoved = async (applicationId: string): Promise<boolean> => {
    const row = await queue.application(applicationId);
    const search = findDestination(applicationId, find);
    const destination = (await inTime(search, { clock, signal: stopping.signal })) ?? 'failed';
    if (row === undefined || typeof destination === 'string') return false;
    return isOfAnotherUrl(row, hashOfUrl(destination.url));
  };
  const shared = { hasMoved, ...settings, ...system, queue, find, observe, tracker };

  const scheduler: Scheduler = new Scheduler({
    ...shared,
    slots,
    ready,
    giveWay: givingWay(clock),
    deliver: (claim, slot) => delivery.deliver(claim, slot),
  });
  const wake = (): void => scheduler.wake();
  const upkeep = new Upkeep({ ...shared, ...upkeepTimes(settings), wake });
  const delivery = new Delivery({
    ...shared,
    ...wire,
    onSlotMoved: wake,
    onClosed: (applicationId) => upkeep.closeApplication(applicationId),
  });
  const stopListening = isDelivering ? queue.onDue(wake) : undefined;
  const lifecycle: Lifecycle = new Lifecycle({
    ...shared,
    quiet: (untilMs, signal) => (isDelivering ? scheduler.quiet(untilMs, signal) : nothing()),
    stop: async () => {
      stopping.abort();
      stopListening?.();
      stopBeforeExit();
      await Promise.all([scheduler.stop(), upkeep.stop()]);
      await poster.close();
    },
  });
  const stopBeforeExit = flushBeforeExit({
    budgetMs: settings.flushBeforeExitMs,
    clock,
    lastNumber: () => tracker.lastNumber,
    pending: () => tracker.pending,
    flush: (signal) => lifecycle.flush(signal),
  });
  if (isDelivering) {
    scheduler.start();
    upkeep.start();
  }
  // Now, and not at the first message: while a prototype is polluted, zod makes no schema.
  if (settings.role !== 'deliver') messageToSend(settings.dialect).safeParse(undefined);
  const intake = { ...settings, ...settings.policy, newId: system.newId };
  return new Engine({
    ...shared,
    slots,
    ready,
    intake,
    lifecycle,
    attempts: () => delivery.attempts,
    sendTest: (applicationId) => sendTestMessage(applicationId, { ...intake, ...wire, find }),
  });
}

/** Opens the queue when it is first needed; one that could not be opened is opened again. */
function opener(queue: MessageQueue, { policy, lingerMs }: SenderSettings): () => Promise<void> {
  let opened: Promise<void> | undefined;
  return async () => {
    opened ??= queue.open(untriedRow(policy), lingerMs).catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    await opened.catch((cause: unknown) => {
      const code = cause instanceof SecurityEventError ? cause.code : 'ERR_QUEUE_FAILED';
      // One for each caller: the error of `send` holds the messages of its call.
      throw new SecurityEventError(code, { cause });
    });
  };
}

function upkeepTimes({ policy, upkeepMs, stalledAfterMs }: SenderSettings) {
  return { horizonMs: policy.schedule.horizonMs, everyMs: upkeepMs, stalledAfterMs };
}

const nothing = (): Promise<void> => Promise.resolve();
