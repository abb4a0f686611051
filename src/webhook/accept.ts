/** Messages as the caller gives them become bytes: checked, identified and serialised, once. */

import type { Contract, WebhookMessageToSend } from '../contract/index.ts';
import { contract, type Dialect, messageToSend } from '../contract/index.ts';
import { kindOf } from '../contract/wording.ts';
import { type InputIssue, SecurityEventError } from '../errors.ts';
import type { Format, StoredMessage } from '../queue/queue.ts';
import { bodyBytes, elementBytes, type MessageToStore, storeV1, storeV2 } from './encoder.ts';
import { applicationOf } from './split.ts';

/** What the senders take in each format. */
export type MessageToSend<D extends Dialect = 'strict', F extends Format = 2> = F extends 2
  ? WebhookMessageToSend<D>
  : Contract<D>['WebhookMessageV1']['_zod']['input'];

export interface AcceptedMessage {
  /** Where it is among the messages given. */
  readonly index: number;
  readonly stored: StoredMessage;
  /** Whose it is (D31). */
  readonly application: string | undefined;
}

export interface AcceptRules {
  readonly format: Format;
  readonly dialect: Dialect;
  readonly maxBodyBytes: number;
  /** Makes the ids of messages that have none (D21). */
  readonly newId: () => string;
}

/** An error names this many faults at most: a wrong batch may hold hundreds of thousands. */
const MAX_ISSUES = 100;

/**
 * All messages, or an error and none: what is refused is refused before anything is sent.
 *
 * Each message is read and stored in one piece; `giveWay` is awaited between two of them, so that a
 * large batch does not hold the event loop. The array itself is copied: a host may empty it.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE` or `ERR_MESSAGE_TOO_LARGE`; its `path` begins
 * with the index of the message.
 */
export async function acceptMessages(
  messages: unknown,
  rules: AcceptRules,
  giveWay: () => Promise<void>,
): Promise<AcceptedMessage[]> {
  if (!Array.isArray(messages)) {
    const message = `expected an array of messages, found ${kindOf(messages)}`;
    throw invalidMessage([{ path: [], message }]);
  }
  const schema: Schema =
    rules.format === 2
      ? messageToSend(rules.dialect)
      : contract({ dialect: rules.dialect }).WebhookMessageV1;
  const store = rules.format === 2 ? acceptV2 : acceptV1;
  const accepted: AcceptedMessage[] = [];
  const issues: InputIssue[] = [];
  for (const [index, given] of messages.slice().entries()) {
    const parsed = parse(schema, given, index);
    if (parsed.success) {
      if (issues.length === 0) accepted.push({ index, ...store(parsed.data, rules.newId) });
    } else {
      const untold = parsed.error.issues.slice(0, MAX_ISSUES - issues.length);
      issues.push(...untold.map((issue) => within(index, issue)));
    }
    if (issues.length === MAX_ISSUES) break;
    await giveWay();
  }
  if (issues.length > 0) throw invalidMessage(issues);
  for (const message of accepted) checkSize(message, rules.maxBodyBytes);
  return accepted;
}

/** What is used of a schema: zod's own types would tie every format to one shape. */
interface Schema {
  safeParse(input: unknown): Parsed;
}

type Parsed =
  | { readonly success: true; readonly data: object }
  | { readonly success: false; readonly error: { readonly issues: readonly InputIssue[] } };

function parse(schema: Schema, given: unknown, index: number): Parsed {
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

type Accepted = Omit<AcceptedMessage, 'index'>;

/** The id is fixed here, before the first attempt, and never changes (D21). */
function acceptV2(data: object, newId: () => string): Accepted {
  const { message_type, message, message_id: id } = data as MessageToStore;
  // An inherited id, of a polluted prototype, would be every message's.
  const message_id = (Object.hasOwn(data, 'message_id') ? id : undefined) ?? newId();
  const stored = storeV2({ message_id, message_type, message });
  return { stored, application: applicationOf(message) };
}

/** An element of format v1 has no message_id: in the report its own id stands for it. */
function acceptV1(data: object, newId: () => string): Accepted {
  const { id, event_id } = data as { readonly id?: string | null; readonly event_id?: string };
  return { stored: storeV1(id || event_id || newId(), data), application: applicationOf(data) };
}

function checkSize({ index, stored }: AcceptedMessage, maxBodyBytes: number): void {
  const bytes = bodyBytes([elementBytes({ stored, retryCount: 0 })]);
  if (bytes <= maxBodyBytes) return;
  throw new SecurityEventError('ERR_MESSAGE_TOO_LARGE', {
    detail: `message ${index} makes a request of ${bytes} bytes, maxBodyBytes is ${maxBodyBytes}`,
    path: [index],
  });
}

function within(index: number, { path, message }: InputIssue): InputIssue {
  return { path: [index, ...path], message };
}

function invalidMessage(issues: readonly InputIssue[]): SecurityEventError {
  return new SecurityEventError('ERR_INVALID_MESSAGE', { issues });
}
