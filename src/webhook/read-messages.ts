/** A batch as the caller gave it, read message by message: all of it, or an error and nothing. */
import type { Contract, Dialect, WebhookMessageToSend } from '../contract/index.ts';
import { kindOf } from '../contract/wording.ts';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import type { Format } from '../queue/queue.ts';
import type { GiveWay } from '../runtime/yield-to-event-loop.ts';

/** What the senders take in each format. */
export type MessageToSend<D extends Dialect = 'strict', F extends Format = 2> = F extends 2
  ? WebhookMessageToSend<D>
  : Contract<D>['WebhookMessageV1']['_zod']['input'];

/** What is used of a schema: zod's own types would tie every format to one shape. */
export interface MessageSchema<D extends object = object> {
  safeParse(input: unknown): Parsed<D>;
}

type Parsed<D> =
  | { readonly success: true; readonly data: D }
  | { readonly success: false; readonly error: { readonly issues: readonly InputIssue[] } };

export interface Reading<D extends object> {
  readonly schema: MessageSchema<D>;
  /** Called for each message in turn, as long as none was refused. Awaited if it returns a promise. */
  readonly store: (data: D, index: number) => Promise<void> | undefined;
  /** Asked between two messages, so that a large batch does not hold the event loop. */
  readonly giveWay: GiveWay;
}

/** An error names this many faults at most: a wrong batch may hold hundreds of thousands. */
const MAX_ISSUES = 100;

/**
 * Each message is read and stored in one piece; the array itself is copied: a host may empty it.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE`, with the faults of all messages, or what `store`
 * throws; `path` begins with the index of the message.
 */
export async function readMessages<D extends object>(
  messages: unknown,
  { schema, store, giveWay }: Reading<D>,
): Promise<void> {
  if (!Array.isArray(messages)) {
    const message = `expected an array of messages, found ${kindOf(messages)}`;
    throw invalidMessage([{ path: [], message }]);
  }
  const issues: InputIssue[] = [];
  const given: readonly unknown[] = messages.slice();
  for (let index = 0; index < given.length; index += 1) {
    const parsed = parse(schema, given[index], index);
    if (!parsed.success) {
      const untold = parsed.error.issues.slice(0, MAX_ISSUES - issues.length);
      issues.push(...untold.map((issue) => within(index, issue)));
    } else if (issues.length === 0) {
      // Most are stored at once; awaiting those would cost a turn of the microtask queue each.
      const storing = store(parsed.data, index);
      if (storing !== undefined) await storing;
    }
    if (issues.length === MAX_ISSUES) break;
    const way = giveWay();
    if (way !== undefined) await way;
  }
  if (issues.length > 0) throw invalidMessage(issues);
}

function parse<D extends object>(
  schema: MessageSchema<D>,
  given: unknown,
  index: number,
): Parsed<D> {
  try {
    return schema.safeParse(given);
  } catch (cause) {
    // A getter or a proxy within the message.
    throw new SecurityEventError('ERR_INVALID_MESSAGE', {
      detail: `${index}: reading the message threw`,
      path: [index],
      cause,
    });
  }
}

function within(index: number, { path, message }: InputIssue): InputIssue {
  return { path: [index, ...path], message };
}

function invalidMessage(issues: readonly InputIssue[]): SecurityEventError {
  return new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}
