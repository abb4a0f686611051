/**
 * Sends messages in one call as if each had its own call: if the call is refused because of one message, each
 * is sent again in a call of its own. That happens within the same call, so that `flush` and `close` wait for it.
 */
import { SecurityEventError } from '../errors.ts';
import type { AcceptedEntry } from '../webhook/accept.ts';
import type { SingleSendResult, SkippedMessage } from './sender.ts';
import { FollowedMessage } from './settled-messages.ts';

/** The followed messages of a call, by their index. Empty until the queue has accepted them. */
export type FollowedByIndex = FollowedMessage[];

/** The result of a call that was not refused. */
export interface Accepted {
  readonly accepted: readonly AcceptedEntry[];
  readonly skipped: readonly SkippedMessage[];
}

export interface EachCall {
  /** Accepts all messages, or rejects and accepts none. */
  readonly accept: (messages: readonly object[], followed: FollowedByIndex) => Promise<Accepted>;
  /** Returns the error to report for an error of `accept`. */
  readonly errorFor: (error: unknown) => unknown;
}

/** Makes a followed message for each entry, and puts it into its place of `followed`. */
export function follow(
  followed: FollowedByIndex,
  entries: readonly AcceptedEntry[],
): FollowedMessage[] {
  return entries.map(({ index }) => {
    const message = new FollowedMessage();
    followed[index] = message;
    return message;
  });
}

/** Resolves to a result for each message, in order. The error of a refused message has that message alone as `input`. */
export async function sendEach(
  promised: Promise<readonly object[]>,
  call: EachCall,
): Promise<readonly PromiseSettledResult<SingleSendResult>[]> {
  const messages = await promised;
  try {
    const results = await sendTogether(messages, call);
    return results.map((value) => ({ status: 'fulfilled', value }));
  } catch (error) {
    if (messages.length === 1 || mustNotResend(error)) {
      return refusals(error, messages).map((reason) => ({ status: 'rejected', reason }));
    }
    return await Promise.allSettled(messages.map((message) => sendAlone(message, call)));
  }
}

/** Makes one error for each message, with that message as `input`. */
export function refusals(error: unknown, messages: readonly object[]): unknown[] {
  return messages.map((message, index) => {
    if (!(error instanceof SecurityEventError)) return error;
    return (index === 0 ? error : error.copy()).withInput([message]);
  });
}

/** Returns whether the messages must not be sent again: after `ERR_QUEUE_FAILED` they may be stored. */
const mustNotResend = (error: unknown): boolean =>
  !(error instanceof SecurityEventError) || error.code === 'ERR_QUEUE_FAILED';

async function sendAlone(message: object, call: EachCall): Promise<SingleSendResult> {
  try {
    const [result] = await sendTogether([message], call);
    return result as SingleSendResult;
  } catch (error) {
    throw refusals(error, [message])[0];
  }
}

async function sendTogether(
  messages: readonly object[],
  { accept, errorFor }: EachCall,
): Promise<readonly SingleSendResult[]> {
  const followed: FollowedByIndex = [];
  try {
    const { accepted, skipped } = await accept(messages, followed);
    const results: SingleSendResult[] = [];
    for (const { index } of accepted) {
      results[index] = { isAccepted: true, followed: followed[index] };
    }
    for (const { index, reason } of skipped) results[index] = { isAccepted: false, reason };
    return results;
  } catch (error) {
    throw errorFor(error);
  }
}
