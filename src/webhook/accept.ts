/** Messages as the caller gives them become bytes: checked, identified and serialised, once. */
import { contract, type Dialect, messageToSend } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type { Format, StoredMessage } from '../queue/queue.ts';
import { bodyBytes, elementBytes, type MessageToStore, storeV1, storeV2 } from './encoder.ts';
import { type MessageSchema, readMessages } from './read-messages.ts';
import { applicationOf } from './split.ts';

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

/**
 * All messages, or an error and none: what is refused is refused before anything is sent.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE` or `ERR_MESSAGE_TOO_LARGE`; its `path` begins
 * with the index of the message.
 */
export async function acceptMessages(
  messages: unknown,
  rules: AcceptRules,
  giveWay: () => Promise<void>,
): Promise<AcceptedMessage[]> {
  const schema: MessageSchema =
    rules.format === 2
      ? messageToSend(rules.dialect)
      : contract({ dialect: rules.dialect }).WebhookMessageV1;
  const accept = rules.format === 2 ? acceptV2 : acceptV1;
  const store = (data: object, index: number): AcceptedMessage => ({
    index,
    ...accept(data, rules.newId),
  });
  const accepted = await readMessages(messages, { schema, store, giveWay });
  const first = { retryCount: 0, maxBodyBytes: rules.maxBodyBytes };
  for (const { index, stored } of accepted) checkSize(index, stored, first);
  return accepted;
}

type Accepted = Omit<AcceptedMessage, 'index'>;

function acceptV2(data: object, newId: () => string): Accepted {
  const message = identify(data, newId);
  return { stored: storeV2(message), application: applicationOf(message.message) };
}

/** The id is fixed here, before the first attempt, and never changes (D21). */
export function identify(data: object, newId: () => string): MessageToStore {
  const { message_type, message } = data as MessageToStore;
  return { message_id: ownId(data, 'message_id') ?? newId(), message_type, message };
}

/** An element of format v1 has no message_id: in the report its own id stands for it. */
function acceptV1(data: object, newId: () => string): Accepted {
  const messageId = ownId(data, 'id') || ownId(data, 'event_id') || newId();
  return { stored: storeV1(messageId, data), application: applicationOf(data) };
}

type Ids = Readonly<Partial<Record<'message_id' | 'id' | 'event_id', string | null>>>;

/** An inherited id, of a polluted prototype, would be every message's. */
function ownId(data: Ids, key: keyof Ids): string | null | undefined {
  return Object.hasOwn(data, key) ? data[key] : undefined;
}

/**
 * @throws SecurityEventError `ERR_MESSAGE_TOO_LARGE` where not even a request of its own would do,
 * with this `retryCount`: its digits count, too.
 */
export function checkSize(
  index: number,
  stored: StoredMessage,
  { retryCount, maxBodyBytes }: { readonly retryCount: number; readonly maxBodyBytes: number },
): void {
  const bytes = bodyBytes([elementBytes({ stored, retryCount })]);
  if (bytes <= maxBodyBytes) return;
  throw new SecurityEventError('ERR_MESSAGE_TOO_LARGE', {
    detail: `message ${index} makes a request of ${bytes} bytes, maxBodyBytes is ${maxBodyBytes}`,
    path: [index],
  });
}
