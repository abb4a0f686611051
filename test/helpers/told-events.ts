/** An engine on a fake clock and a scripted wire, and every event that it tells. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';
import { createFakeClock, type FakeClock } from '../../src/testing/index.ts';
import { makeSender } from '../../src/webhook/engine/create-sender.ts';
import {
  CHANNEL_PREFIX,
  type DeliveryEventName,
  EVENT_TABLE,
} from '../../src/webhook/engine/events.ts';
import type { DeliveryOptions } from '../../src/webhook/engine/options.ts';
import type { WebhookSender } from '../../src/webhook/engine/sender.ts';
import { type PostScript, type ScriptedPoster, scriptedPoster } from './scripted-poster.ts';

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
    { clock, random: () => 0, newId, createPoster },
  );
  onTestFinished(async () => {
    await clock.runUntilSettled(sender.close({ deadlineMs: 0 }));
    for (const takeOff of listeners) takeOff();
  });
  return { sender, clock, poster, told };
}
