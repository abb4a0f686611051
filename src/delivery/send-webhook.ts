/** `sendWebhook`: sends messages with retries in one call, without a sender. */
import type { Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import { ownProperties } from '../own-properties.ts';
import type { Format } from '../queue/queue.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { newId } from '../runtime/id.ts';
import { onAbort } from '../runtime/on-abort.ts';
import { type Random, systemRandom } from '../runtime/random.ts';
import { untraced } from '../runtime/untraced.ts';
import { createYield } from '../runtime/yield-to-event-loop.ts';
import type { ResolvedApplication } from '../settings/source.ts';
import { type AcceptedEntry, acceptElements } from '../webhook/accept.ts';
import { createPoster, type Poster, type PosterOptions } from '../webhook/http/client.ts';
import type { MessageToSend } from '../webhook/read-messages.ts';
import { directPolicy, sendDirectly } from './direct-sending.ts';
import { readSendCall } from './intake.ts';
import type { SendOptions, WebhookDestination } from './options.ts';
import { readSendOptions, type SendSettings } from './read-options.ts';
import type { SendReport } from './report.ts';

/**
 * Sends messages to one receiver, with retries, and reports the result of each. One request is in
 * flight at a time; at most `maxMessages` messages of one application share one.
 *
 * Failures of the receiver or the network are in the report and never reject. Rejects with `ERR_PEER_MISSING` if undici
 * cannot be loaded. Do not change the messages before the call has settled: a large batch is read over several turns of
 * the event loop.
 *
 * @throws SecurityEventError, as a rejection and before anything is sent, for what the caller did
 * wrong: `ERR_INVALID_MESSAGE`, `ERR_MESSAGE_TOO_LARGE`, `ERR_INVALID_OPTION`, `ERR_INVALID_URL`,
 * `ERR_INVALID_SECRET`, and `ERR_ADDRESS_REFUSED` for a URL with an address that `network` refuses.
 * `path` names what is at fault, and `input` holds the messages.
 */
export function sendWebhook<D extends Dialect = 'strict', F extends Format = 2>(
  destination: WebhookDestination,
  messages: readonly MessageToSend<D, F>[],
  options?: SendOptions<D, F>,
): Promise<SendReport> {
  const system = { clock: systemClock, random: systemRandom, newId, createPoster };
  // Untraced: retries may outlast the traced request that made the call. `bind` adds no frame to error stacks.
  return untraced(sendNow.bind(undefined, { destination, messages, options }, system));
}

export interface SendCall {
  readonly destination: unknown;
  readonly messages: unknown;
  readonly options?: unknown;
}

/** What sending needs from the process. */
export interface SendSystem {
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: () => string;
  readonly createPoster: (options: PosterOptions) => Poster;
}

export async function sendNow(call: SendCall, system: SendSystem): Promise<SendReport> {
  // The messages are on every error, so that none disappears.
  try {
    const settings = readSendOptions(call.destination, call.options);
    const entries = await readEntries(call.messages, settings, system);
    return await sendEntries(entries, settings, system);
  } catch (error) {
    throw error instanceof SecurityEventError ? error.withInput(call.messages) : error;
  }
}

/** Delivery cannot fall behind: a call accepts all its messages before it sends any. */
const isBehind = (): boolean => false;

/** Messages of any application are accepted, also those that name none. */
const find = (): ResolvedApplication => ownProperties<ResolvedApplication>({ format: 2 });

/**
 * Checks all messages before anything is sent. Unlike a sender, a call converts none to format 1.
 */
export function readEntries(
  messages: unknown,
  settings: Pick<SendSettings, 'format' | 'dialect' | 'maxBodyBytes'>,
  { clock, newId: makeId }: Pick<SendSystem, 'clock' | 'newId'>,
): Promise<readonly AcceptedEntry[]> {
  const { dialect, maxBodyBytes } = settings;
  const rules = { dialect, maxBodyBytes, newId: makeId, v1Aliases: false };
  const yieldToEventLoop = createYield(clock);
  if (settings.format === 1) return acceptElements(messages, rules, yieldToEventLoop);
  const call = { messages, selection: {}, acceptedAtMs: clock.now() };
  const intake = readSendCall(call, { ...rules, find, yieldToEventLoop, isBehind });
  return intake.then(({ entries }) => entries);
}

async function sendEntries(
  entries: readonly AcceptedEntry[],
  { url, secret, headers, signal, http, ...limits }: SendSettings,
  { clock, random, createPoster: create }: SendSystem,
): Promise<SendReport> {
  // Our own signal, so that a call adds one listener to the caller's, which many calls may share.
  const stop = new AbortController();
  const stopListening = signal === undefined ? undefined : onAbort(signal, () => stop.abort());
  const poster = create({ ...http, clock, signal: stop.signal });
  try {
    return await sendDirectly({
      destination: { url, secret, tls: undefined },
      entries,
      policy: directPolicy(limits),
      headers,
      poster,
      clock,
      random,
      signal: stop.signal,
    });
  } finally {
    stopListening?.();
    await poster.close();
  }
}
