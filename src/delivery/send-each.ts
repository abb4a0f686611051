/**
 * Messages in one call, of which each fares as if it had gone alone: what a call is refused for may be
 * one message's fault, and then they go again one by one. Within the same call, so that whoever flushes
 * or closes the sender waits for those that are taken only then.
 */
import { SecurityEventError } from '../errors.ts';
import type { AcceptedEntry } from '../webhook/accept.ts';
import type { SkippedMessage, Taken } from './sender.ts';
import { FollowedMessage } from './settled-messages.ts';

/** The ends of a call's messages, by their places, where they are wanted. */
export type Ends = FollowedMessage[];

/** What a call came to that was not refused. */
export interface Accepted {
  readonly accepted: readonly AcceptedEntry[];
  readonly skipped: readonly SkippedMessage[];
}

export interface EachCall {
  /** All of them, or it rejects and none. */
  readonly accept: (messages: readonly object[], ends: Ends) => Promise<Accepted>;
  /** What is told of an error of `accept`. */
  readonly errorFor: (error: unknown) => unknown;
}

/** Makes a followed message for each entry, and puts it into its place of `ends`. */
export function follow(ends: Ends, entries: readonly AcceptedEntry[]): FollowedMessage[] {
  return entries.map(({ index }) => {
    const followed = new FollowedMessage();
    ends[index] = followed;
    return followed;
  });
}

/** What became of each message, in its place; what it was refused for hands back it alone. */
export async function sendEach(
  promised: Promise<readonly object[]>,
  call: EachCall,
): Promise<readonly PromiseSettledResult<Taken>[]> {
  const messages = await promised;
  try {
    return await take(messages, call);
  } catch (error) {
    if (messages.length === 1 || isOfAll(error)) {
      return refusals(error, messages).map((reason) => ({ status: 'rejected', reason }));
    }
    return await Promise.allSettled(messages.map((message) => takeAlone(message, call)));
  }
}

/** One error as each message would have been refused with it alone. */
export function refusals(error: unknown, messages: readonly object[]): unknown[] {
  return messages.map((message, index) => {
    if (!(error instanceof SecurityEventError)) return error;
    return (index === 0 ? error : error.copy()).about([message]);
  });
}

/** Whether some of the call may be in the queue all the same: to go again would be to be told twice. */
const isOfAll = (error: unknown): boolean =>
  !(error instanceof SecurityEventError) || error.code === 'ERR_QUEUE_FAILED';

async function takeAlone(message: object, call: EachCall): Promise<Taken> {
  try {
    const [taken] = await take([message], call);
    return (taken as PromiseFulfilledResult<Taken>).value;
  } catch (error) {
    throw refusals(error, [message])[0];
  }
}

async function take(
  messages: readonly object[],
  { accept, errorFor }: EachCall,
): Promise<readonly PromiseFulfilledResult<Taken>[]> {
  const ends: Ends = [];
  try {
    const { accepted, skipped } = await accept(messages, ends);
    const taken: PromiseFulfilledResult<Taken>[] = Array.from({ length: messages.length });
    for (const { index } of accepted) {
      taken[index] = { status: 'fulfilled', value: { isAccepted: true, followed: ends[index] } };
    }
    for (const { index, reason } of skipped) {
      taken[index] = { status: 'fulfilled', value: { isAccepted: false, reason } };
    }
    return taken;
  } catch (error) {
    throw errorFor(error);
  }
}
