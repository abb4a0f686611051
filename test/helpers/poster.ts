/** Opens posters and scripted receivers. Closes them at the end of the test. */
import { Agent } from 'undici';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import {
  createPoster,
  type Poster,
  type PosterOptions,
  type PostRequest,
} from '../../src/webhook/http/client.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from './receiver.ts';

export function openPoster(options: Partial<PosterOptions> = {}): Poster {
  const poster = createPoster({ network: 'allow-private', clock: systemClock, ...options });
  onTestFinished(() => poster.close());
  return poster;
}

/** A concurrent test passes the `onTestFinished` of its own context. */
export async function openReceiver(
  options: ReceiverOptions = {},
  onFinished: (close: () => Promise<void>) => void = onTestFinished,
): Promise<Receiver> {
  const receiver = await startReceiver(options);
  onFinished(() => receiver.close());
  return receiver;
}

/** Returns a dispatcher as a host would pass it. */
export function hostDispatcher(): Agent {
  const dispatcher = new Agent();
  onTestFinished(() => dispatcher.destroy());
  return dispatcher;
}

export const requestTo = (url: string, more: Partial<PostRequest> = {}): PostRequest => ({
  url: new URL(url),
  body: Buffer.from('[]'),
  headers: {},
  ...more,
});
