/** A sender on a fake clock and a scripted network. */

import { setImmediate as turn } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { makeSender } from '../../src/delivery/create-sender.ts';
import type { DeliveryEventName } from '../../src/delivery/events.ts';
import type { DeliveryOptions } from '../../src/delivery/options.ts';
import type { WebhookSender } from '../../src/delivery/sender.ts';
import { createMemoryQueue } from '../../src/queue/memory.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';
import type { Poster, PosterOptions, PostRequest } from '../../src/webhook/http/client.ts';
import type { AttemptResult, FailureCode } from '../../src/webhook/outcome.ts';
import { type EventFields, onDeliveryEvent } from './delivery-events.ts';
import { wrapQueue } from './queues.ts';

/** The scripted result of one post. A number is a status. */
export type PostStep = number | Answer | FailureCode;

export interface Answer {
  readonly status: number;
  readonly retryAfter?: string;
}

export interface Posted {
  /** Time since the poster was created, in milliseconds. */
  readonly atMs: number;
  readonly request: PostRequest;
  /** The parsed body. */
  readonly messages: readonly Record<string, unknown>[];
}

export interface ScriptedPoster {
  readonly posts: readonly Posted[];
  /** The options of each created poster. */
  readonly opened: readonly PosterOptions[];
  readonly closedCount: number;
  readonly createPoster: (options: PosterOptions) => Poster;
}

export interface PostScript {
  /** One step per post, in order; the last one repeats. Or a function of the post. */
  readonly steps: readonly PostStep[] | ((posted: Posted, index: number) => PostStep);
  /** Duration of a post. Default 0. */
  readonly postMs?: number;
}

/** An HTTP client without a network, for tests of decisions about attempts. */
export function scriptedPoster(clock: FakeClock, script: PostScript): ScriptedPoster {
  const { steps, postMs = 0 } = script;
  const startedAt = clock.monotonicMs();
  const posts: Posted[] = [];
  const opened: PosterOptions[] = [];
  let closedCount = 0;
  let inFlight = 0;

  const stepOf = (posted: Posted): PostStep => {
    const index = posts.length - 1;
    if (typeof steps === 'function') return steps(posted, index);
    return steps[Math.min(index, steps.length - 1)] ?? 200;
  };

  const post = async (request: PostRequest): Promise<AttemptResult> => {
    inFlight += 1;
    if (inFlight > 1) throw new Error('two requests in flight');
    const messages = JSON.parse(request.body.toString()) as Record<string, unknown>[];
    const posted = { atMs: clock.monotonicMs() - startedAt, request, messages };
    posts.push(posted);
    const step = stepOf(posted);
    await turn();
    clock.elapse(postMs);
    inFlight -= 1;
    return resultOf(opened.at(-1)?.signal?.aborted === true ? 'aborted' : step, postMs);
  };

  return {
    posts,
    opened,
    get closedCount() {
      return closedCount;
    },
    createPoster: (options) => {
      opened.push(options);
      return {
        post,
        close: () => {
          closedCount += 1;
          return Promise.resolve();
        },
      };
    },
  };
}

function resultOf(step: PostStep, totalMs: number): AttemptResult {
  const attempt = { timings: { totalMs }, reusedConnection: false };
  if (typeof step === 'string') {
    return { kind: 'failure', code: step, detail: `scripted ${step}`, ...attempt };
  }
  const { status, retryAfter }: Answer = typeof step === 'number' ? { status: step } : step;
  return { kind: 'response', status, retryAfter, ...attempt };
}

/** A published event and its fields, without `senderId`. */
export type PublishedEvent = readonly [name: DeliveryEventName, fields: EventFields];

export interface StartedEngine {
  readonly sender: WebhookSender;
  readonly clock: FakeClock;
  readonly poster: ScriptedPoster;
  readonly published: readonly PublishedEvent[];
}

export interface EngineScript extends Partial<PostScript> {
  /** A URL with a secret, or settings. Default: `ENGINE_URL` and `ENGINE_SECRET`. */
  readonly destination?: object;
  readonly options?: DeliveryOptions | ((clock: FakeClock) => DeliveryOptions);
  /** Default: a new one. */
  readonly clock?: FakeClock;
}

export const ENGINE_URL = 'https://receiver.example/hook?token=hunter2';
export const ENGINE_SECRET = 'correct horse battery staple';

/** Settings of an application. */
export const ENGINE_SHOP = {
  name: 'shop',
  environment: 'test',
  url: ENGINE_URL,
  secret: ENGINE_SECRET,
} as const;

interface Network {
  readonly clock: FakeClock;
  readonly post: Poster['post'];
  /** Default: no jitter. */
  readonly random?: () => number;
}

/** Opens a sender on a fake clock and the given network. Closes it at the end of the test. */
export function openEngine(
  options: object,
  { clock, post, random = () => 0 }: Network,
): WebhookSender {
  const sender = makeSender(options, {
    clock,
    random,
    newId: () => 'sender',
    createPoster: () => ({ post, close: () => Promise.resolve() }),
    maxOpenFiles: Number.POSITIVE_INFINITY,
  });
  onTestFinished(async () => {
    await clock.runUntilSettled(sender.close({ deadlineMs: 0 }));
  });
  return sender;
}

/** Starts a sender without jitter, with instant posts. Ids are `id-1`, which is the sender's, `id-2` … */
export function startEngine({
  destination = { url: ENGINE_URL, secret: ENGINE_SECRET },
  options,
  steps = [200],
  postMs,
  clock = createFakeClock(),
}: EngineScript): StartedEngine {
  const poster = scriptedPoster(clock, postMs === undefined ? { steps } : { steps, postMs });
  let lastId = 0;
  const newId = (): string => {
    lastId += 1;
    return `id-${lastId}`;
  };
  const published: PublishedEvent[] = [];
  const stopListening = onDeliveryEvent((name, { senderId, ...fields }) => {
    if (senderId === 'id-1') published.push([name, fields]);
  });
  const { createPoster } = poster;
  const sender = makeSender(
    { ...destination, ...(typeof options === 'function' ? options(clock) : options) },
    { clock, random: () => 0, newId, createPoster, maxOpenFiles: Number.POSITIVE_INFINITY },
  );
  onTestFinished(async () => {
    await clock.runUntilSettled(sender.close({ deadlineMs: 0 }));
    stopListening();
  });
  return { sender, clock, poster, published };
}

interface ScriptOnQueue extends EngineScript {
  readonly options?: DeliveryOptions;
}

/** Starts a sender on a queue in memory, some of whose methods are replaced. */
export function startEngineOn(
  replacedIn: (memory: MessageQueue, clock: FakeClock) => Partial<MessageQueue>,
  { options, clock = createFakeClock(), ...script }: ScriptOnQueue = {},
): StartedEngine {
  const memory = createMemoryQueue({}, clock);
  const queue = wrapQueue(memory, replacedIn(memory, clock));
  return startEngine({ ...script, clock, options: { ...options, queue } });
}
