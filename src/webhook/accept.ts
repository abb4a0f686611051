/** Messages as the caller gives them become bytes: checked, identified and serialised, once. */
import { contract, type Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type { Format, StoredMessage } from '../queue/queue.ts';
import type { GiveWay } from '../runtime/yield-to-event-loop.ts';
import { draftReader, type ReadDraft } from './draft-reader.ts';
import { bodyBytes, elementBytes, storeText, storeV1 } from './encoder.ts';
import { readMessages } from './read-messages.ts';
import { type BytesOf, sharedBytes } from './shared-bytes.ts';
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
  giveWay: GiveWay,
): Promise<AcceptedMessage[]> {
  const { format, dialect, newId } = rules;
  const toBytes = sharedBytes(Array.isArray(messages) ? messages.length : 0);
  const accepted =
    format === 2
      ? await readMessages(messages, {
          schema: draftReader(dialect),
          store: (draft, index) => acceptV2(draft, index, { newId, toBytes }),
          giveWay,
        })
      : await readMessages(messages, {
          schema: contract({ dialect }).WebhookMessageV1,
          store: (data, index) => acceptV1(data, index, newId),
          giveWay,
        });
  for (const { index, stored } of accepted) {
    checkSize(index, elementBytes({ stored, sends: 0 }), rules.maxBodyBytes);
  }
  return accepted;
}

/** The id is fixed here, before the first attempt, and never changes (D21). */
function acceptV2(
  draft: ReadDraft,
  index: number,
  { newId, toBytes }: Pick<AcceptRules, 'newId'> & { readonly toBytes: BytesOf },
): AcceptedMessage {
  const { messageId = newId(), messageType, message, application } = draft;
  const text = { message_id: messageId, message_type: messageType, message };
  return { index, stored: storeText(text, toBytes), application };
}

/** An element of format v1 has no message_id: in the report its own id stands for it. */
function acceptV1(data: object, index: number, newId: () => string): AcceptedMessage {
  const messageId = ownId(data, 'id') || ownId(data, 'event_id') || newId();
  return { index, stored: storeV1(messageId, data), application: applicationOf(data) };
}

type Ids = Readonly<Partial<Record<'id' | 'event_id', string | null>>>;

/** An inherited id, of a polluted prototype, would be every message's. */
function ownId(data: Ids, key: keyof Ids): string | null | undefined {
  return Object.hasOwn(data, key) ? data[key] : undefined;
}

/** @throws SecurityEventError `ERR_MESSAGE_TOO_LARGE` where not even a request of its own would do for an element of this size. */
export function checkSize(index: number, size: number, maxBodyBytes: number): void {
  const bytes = bodyBytes([size]);
  if (bytes <= maxBodyBytes) return;
  throw new SecurityEventError('ERR_MESSAGE_TOO_LARGE', {
    detail: `message ${index} makes a request of ${bytes} bytes, maxBodyBytes is ${maxBodyBytes}`,
    path: [index],
  });
}
