/** Reads the caller's batch message by message: all of it, or an error that lists the faults. */

import { kindOf } from '../contract/error-messages.ts';
import {
  type Contract,
  type Dialect,
  messageToSend,
  type WebhookMessageToSend,
} from '../contract/index.ts';
import { withOwnKeys } from '../contract/own-keys.ts';
import { type CapturedFields, messageSerializer } from '../contract/serialize.ts';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import type { Format } from '../queue/queue.ts';
import type { YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';

/** The messages that senders accept in each format. */
export type MessageToSend<D extends Dialect = 'strict', F extends Format = 2> = F extends 2
  ? WebhookMessageToSend<D>
  : Contract<D>['WebhookMessageV1']['_zod']['input'];

/** The part of a zod schema that is used here. zod's own types differ between the formats. */
export interface MessageSchema<D extends object = object> {
  safeParse(input: unknown): Parsed<D>;
}

type Parsed<D> =
  | { readonly success: true; readonly data: D }
  | { readonly success: false; readonly error: { readonly issues: readonly InputIssue[] } };

export interface ReadMessagesParts<D extends object> {
  readonly schema: MessageSchema<D>;
  /** Called for each message in order, until one is invalid. Awaited if it returns a promise. */
  readonly store: (data: D, index: number) => Promise<void> | undefined;
  /** Called between two messages, so that a large batch does not block the event loop. */
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** Maximum faults that an error lists: a wrong batch may have hundreds of thousands. */
const MAX_ISSUES = 100;

/**
 * Reads and stores one message after the other. Copies the array first: the host may empty it.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE`, with the faults of all messages, or what `store`
 * throws; `path` begins with the index of the message.
 */
export async function readMessages<D extends object>(
  messages: unknown,
  { schema, store, yieldToEventLoop }: ReadMessagesParts<D>,
): Promise<void> {
  if (!Array.isArray(messages)) {
    const message = `expected an array of messages, found ${kindOf(messages)}`;
    throw invalidMessage([{ path: [], message }]);
  }
  const issues: InputIssue[] = [];
  const given: readonly unknown[] = messages.slice();
  for (let index = 0; index < given.length; index += 1) {
    let parsed: Parsed<D>;
    // Not in a function of its own, so that errors in getters of the host have short stacks.
    try {
      parsed = schema.safeParse(given[index]);
    } catch (cause) {
      throw readingThrew(index, cause);
    }
    if (!parsed.success) {
      const reported = parsed.error.issues.slice(0, MAX_ISSUES - issues.length);
      issues.push(...reported.map((issue) => inMessage(index, issue)));
    } else if (issues.length === 0) {
      // Most are stored synchronously: awaiting would cost each a turn of the microtask queue.
      const storing = store(parsed.data, index);
      if (storing !== undefined) await storing;
    }
    if (issues.length === MAX_ISSUES) break;
    const yielding = yieldToEventLoop();
    if (yielding !== undefined) await yielding;
  }
  if (issues.length > 0) throw invalidMessage(issues);
}

/** For what a getter or a proxy in a message throws. */
function readingThrew(index: number, cause: unknown): SecurityEventError {
  return new SecurityEventError('ERR_INVALID_MESSAGE', {
    detail: `${index}: reading the message threw`,
    path: [index],
    cause,
  });
}

function inMessage(index: number, { path, message }: InputIssue): InputIssue {
  return { path: [index, ...path], message };
}

function invalidMessage(issues: readonly InputIssue[]): SecurityEventError {
  return new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}

/**
 * A copy of a validated message, which the host can no longer change. A class, for the reason given in
 * queue/message-classes.ts.
 */
export class ValidatedMessage implements CapturedFields {
  messageId: string | undefined = undefined;
  messageType = '';
  message = '';
  application: string | undefined = undefined;
  playbook: string | undefined = undefined;
  v1: string | undefined = undefined;
}

/**
 * Returns a copy of a message that zod validated. `given` is the caller's message. zod copies inherited properties too:
 * an id or hint inherited from `Object.prototype` does not count.
 */
export function messageFromZod(data: object, given: unknown): ValidatedMessage {
  const isGiven = (key: string): boolean =>
    Object.hasOwn(given as object, key) || !(key in Object.prototype);
  const { message_id, message_type, message, v1 } = data as ParsedMessage;
  const validated = new ValidatedMessage();
  validated.messageId = isGiven('message_id') ? message_id : undefined;
  validated.messageType = message_type;
  validated.message = JSON.stringify(message);
  validated.application = applicationOf(message);
  validated.playbook = own(message, 'playbook')?.name;
  validated.v1 = isGiven('v1') ? JSON.stringify(v1) : undefined;
  return validated;
}

interface ParsedMessage {
  readonly message_id?: string;
  readonly message_type: string;
  readonly message: Content;
  readonly v1?: object;
}

/** The parts of a message or a v1 element that are read. */
interface Content {
  readonly id?: string | null;
  readonly event_id?: string;
  readonly application_id?: string;
  readonly application?: { readonly id: string };
  readonly playbook?: { readonly name: string };
}

/** A polluted prototype would give all messages one application and one id. */
export const own = <K extends keyof Content>(content: Content, key: K): Content[K] | undefined =>
  Object.hasOwn(content, key) ? content[key] : undefined;

/** Returns the application of a message or a v1 element: `application_id`, or `application.id`. */
export const applicationOf = (content: object): string | undefined =>
  own(content, 'application_id') ?? own(content, 'application')?.id;

/**
 * Returns a reader that validates and serialises in one pass, and calls `parse` when full validation is needed. Throws
 * what a getter or proxy in a message throws.
 */
export function readerWith(
  dialect: Dialect,
  parse: (given: unknown) => Parsed<ValidatedMessage>,
): MessageSchema<ValidatedMessage> {
  const serialize = messageSerializer(dialect);
  return {
    safeParse: (given) => {
      const data = new ValidatedMessage();
      const isRead = serialize(withOwnKeys(given), data) !== undefined;
      return isRead && isOwn(given as object, data) ? { success: true, data } : parse(given);
    },
  };
}

/** Returns whether the message itself has what was read: values inherited from a polluted prototype do not count. */
const isOwn = (given: object, { messageId, v1 }: ValidatedMessage): boolean =>
  (messageId === undefined || Object.hasOwn(given, 'message_id')) &&
  (v1 === undefined || Object.hasOwn(given, 'v1'));

function reader(dialect: Dialect): MessageSchema<ValidatedMessage> {
  const schema = messageToSend(dialect);
  return readerWith(dialect, (given) => {
    const parsed = schema.safeParse(given);
    return parsed.success ? { success: true, data: messageFromZod(parsed.data, given) } : parsed;
  });
}

const READERS: { readonly [D in Dialect]: MessageSchema<ValidatedMessage> } = {
  strict: reader('strict'),
  open: reader('open'),
};

export const messageReader = (dialect: Dialect): MessageSchema<ValidatedMessage> =>
  READERS[dialect];
