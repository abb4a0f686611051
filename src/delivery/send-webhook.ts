/** `sendWebhook`: sends messages with retries in one call, without a sender. */
import type { Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type { Format } from '../queue/queue.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { newId } from '../runtime/id.ts';
import { onAbort } from '../runtime/on-abort.ts';
import { type Random, systemRandom } from '../runtime/random.ts';
import { untraced } from '../runtime/untraced.ts';
import { createYield } from '../runtime/yield-to-event-loop.ts';
import { type AcceptedEntry, acceptMessages } from '../webhook/accept.ts';
import { createPoster, type Poster, type PosterOptions } from '../webhook/http/client.ts';
import type { MessageToSend } from '../webhook/read-messages.ts';
import { directPolicy, sendDirectly } from './direct-sending.ts';
import type { SendOptions, WebhookDestination } from './options.ts';
import { readSendOptions, type SendSettings } from './read-options.ts';
import type { SendReport } from './report.ts';

/**
 * Sends messages to one receiver, with retries, and reports what became of each. One request is in
 * flight at a time; at most `maxMessages` messages of one application share one.
 *
 * Failures of the receiver or the network are in the report and never reject. Rejects with `ERR_PEER_MISSING` if undici
 * cannot be loaded. Do not change the messages before the call has settled: a large batch is read over several turns of
 * the event loop.
 *
 * @throws SecurityEventError, as a rejection and before anything is sent, for what the caller did
 * wrong: `ERR_INVALID_MESSAGE`, `ERR_MESSAGE_TOO_LARGE`, `ERR_INVALID_OPTION`, `ERR_INVALID_URL`,
 * `ERR_INVALID_SECRET`, and `ERR_ADDRESS_REFUSED` for a URL with an address that `network` refuses. `path` names what is at fault and `input` holds the messages.
 */
export function sendWebhook<D extends Dialect = 'strict', F extends Format = 2>(
  destination: WebhookDestination,
  messages: readonly MessageToSend<D, F>[],
  options?: SendOptions<D, F>,
): Promise<SendReport> {
  const system = { clock: systemClock, random: systemRandom, newId, createPoster };
  // Retries go on after the traced request in which the call was made.
  return untraced(() => sendNow({ destination, messages, options }, system));
}

export interface SendCall {
  readonly destination: unknown;
  readonly messages: unknown;
  readonly options?: unknown;
}

/** What a call needs from the process. */
export interface SendSystem {
  readonly clock: Clock;
  readonly random: Random;
  readonly newId: () => string;
  readonly createPoster: (options: PosterOptions) => Poster;
}

export async function sendNow(call: SendCall, system: SendSystem): Promise<SendReport> {
  const { settings, entries } = await readCall(call, system);
  const { signal } = settings;
  const { clock, random } = system;
  // Our own signal, so that a call adds one listener to the caller's, which many calls may share.
  const stop = new AbortController();
  const stopListening = signal === undefined ? undefined : onAbort(signal, () => stop.abort());
  const poster = system.createPoster({ ...settings.wire, clock, signal: stop.signal });
  try {
    return await sendDirectly({
      destination: { url: settings.url, secret: settings.secret, tls: undefined },
      entries,
      policy: directPolicy(settings),
      headers: settings.headers,
      poster,
      clock,
      random,
      signal: stop.signal,
    });
  } catch (error) {
    throw withInput(error, call.messages);
  } finally {
    stopListening?.();
    await poster.close();
  }
}

interface CheckedCall {
  readonly settings: SendSettings;
  readonly entries: readonly AcceptedEntry[];
}

/** Checks the call. The messages are on every error, so that none disappears. */
async function readCall(
  { destination, messages, options }: SendCall,
  { clock, newId: makeId }: SendSystem,
): Promise<CheckedCall> {
  try {
    const settings = readSendOptions(destination, options);
    const rules = { ...settings, newId: makeId };
    return { settings, entries: await acceptMessages(messages, rules, createYield(clock)) };
  } catch (error) {
    throw withInput(error, messages);
  }
}

const withInput = (error: unknown, messages: unknown): unknown =>
  error instanceof SecurityEventError ? error.about(messages) : error;
