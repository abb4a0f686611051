/** A delivery engine on a fake clock and a scripted network. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setImmediate as turn } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { makeSender } from '../../src/delivery/create-sender.ts';
import { CHANNEL_PREFIX, type DeliveryEventName, EVENT_TABLE } from '../../src/delivery/events.ts';
import type { DeliveryOptions } from '../../src/delivery/options.ts';
import type { WebhookSender } from '../../src/delivery/sender.ts';
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';
import type { Poster, PosterOptions, PostRequest } from '../../src/webhook/http/client.ts';
import type { AttemptResult, FailureCode } from '../../src/webhook/outcome.ts';

/** What one post comes to: a status, or more. */
export type PostStep = number | Answer | FailureCode;

export interface Answer {
  readonly status: number;
  readonly retryAfter?: string;
}

export interface Posted {
  /** Since the first use of the clock, in ms. */
  readonly atMs: number;
  readonly request: PostRequest;
  /** The parsed body. */
  readonly messages: readonly Record<string, unknown>[];
}

export interface ScriptedPoster {
  readonly posts: readonly Posted[];
  /** The options of each poster that was made. */
  readonly opened: readonly PosterOptions[];
  readonly closedCount: number;
  readonly createPoster: (options: PosterOptions) => Poster;
}

export interface PostScript {
  /** One step a post, in order, the last one goes on; or a function of the post. */
  readonly steps: readonly PostStep[] | ((posted: Posted, index: number) => PostStep);
  /** How long a post takes. Default 0. */
  readonly postMs?: number;
}

/** A wire without a network, for tests of what decides about attempts. */
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
  const course = { timings: { totalMs }, reusedConnection: false };
  if (typeof step === 'string') {
    return { kind: 'failure', code: step, detail: `scripted ${step}`, ...course };
  }
  const { status, retryAfter }: Answer = typeof step === 'number' ? { status: step } : step;
  return { kind: 'response', status, retryAfter, ...course };
}

// An engine on a fake clock and a scripted wire, and every event that it tells.

/** Its fields beside `senderId`. */
export type ToldEvent = readonly [
  name: DeliveryEventName,
  fields: Readonly<Record<string, unknown>>,
];

export interface ToldEngine {
  readonly sender: WebhookSender;
  readonly clock: FakeClock;
  readonly poster: ScriptedPoster;
  readonly told: readonly ToldEvent[];
}

export interface EngineScript extends Partial<PostScript> {
  /** Default: one destination. */
  readonly where?: object;
  readonly options?: DeliveryOptions | ((clock: FakeClock) => DeliveryOptions);
  /** Default: one of its own. */
  readonly clock?: FakeClock;
}

export const ENGINE_URL = 'https://receiver.example/hook?token=hunter2';
export const ENGINE_SECRET = 'correct horse battery staple';

/** Ids are `id-1`, which is the sender's, `id-2` …; there is no jitter; a post takes no time. */
export function startEngine({
  where,
  options,
  steps = [200],
  postMs,
  clock = createFakeClock(),
}: EngineScript): ToldEngine {
  const poster = scriptedPoster(clock, postMs === undefined ? { steps } : { steps, postMs });
  let lastId = 0;
  const newId = (): string => {
    lastId += 1;
    return `id-${lastId}`;
  };
  const told: ToldEvent[] = [];
  const names = Object.keys(EVENT_TABLE) as DeliveryEventName[];
  const listeners = names.map((name) => {
    const listener = (event: unknown): void => {
      const { senderId, ...fields } = event as { readonly senderId: string };
      if (senderId === 'id-1') told.push([name, fields]);
    };
    subscribe(CHANNEL_PREFIX + name, listener);
    return () => unsubscribe(CHANNEL_PREFIX + name, listener);
  });
  const destination = where ?? { url: ENGINE_URL, secret: ENGINE_SECRET };
  const { createPoster } = poster;
  const sender = makeSender(
    { ...destination, ...(typeof options === 'function' ? options(clock) : options) },
    { clock, random: () => 0, newId, createPoster, maxOpenFiles: Number.POSITIVE_INFINITY },
  );
  onTestFinished(async () => {
    await clock.runUntilSettled(sender.close({ deadlineMs: 0 }));
    for (const takeOff of listeners) takeOff();
  });
  return { sender, clock, poster, told };
}
