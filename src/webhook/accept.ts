/** Messages as the caller gives them become bytes: checked, identified and serialised, once. */
import { contract, type Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type { Format, QueueEntry, StoredMessage } from '../queue/queue.ts';
import type { GiveWay } from '../runtime/yield-to-event-loop.ts';
import { applicationOf, draftReader, type ReadDraft } from './draft-reader.ts';
import { bodyBytes, elementBytes, storeText, storeV1 } from './encoder.ts';
import { readMessages } from './read-messages.ts';
import { type BytesOf, sharedBytes } from './shared-bytes.ts';

/** Where a message is in its call, and whose it is. */
export interface Place {
  readonly index: number;
  /** Empty if the message names no application. */
  readonly applicationId: string;
}

/** A message for the queue, and its index in the call. */
export class AcceptedEntry implements Place, QueueEntry {
  readonly index: number;
  readonly applicationId: string;
  readonly stored: StoredMessage;
  readonly sizeBytes: number;

  // A class, for the reason of queue/message-classes.ts.
  constructor({ index, applicationId }: Place, stored: StoredMessage, sizeBytes: number) {
    this.index = index;
    this.applicationId = applicationId;
    this.stored = stored;
    this.sizeBytes = sizeBytes;
  }
}

/** A later attempt has a longer `retry_count`; and each element but the first has a comma. */
const MAX_RETRY_COUNT = 9_999_999_999;
const COMMA_BYTES = 1;

/** @throws SecurityEventError `ERR_MESSAGE_TOO_LARGE` if not even a request of its own has room for the message. */
export function acceptedEntry(
  place: Place,
  stored: StoredMessage,
  maxBodyBytes: number,
): AcceptedEntry {
  const size = elementBytes({ stored, sends: MAX_RETRY_COUNT });
  const bytes = bodyBytes([size]);
  if (bytes <= maxBodyBytes) return new AcceptedEntry(place, stored, size + COMMA_BYTES);
  throw new SecurityEventError('ERR_MESSAGE_TOO_LARGE', {
    detail: `message ${place.index} makes a request of ${bytes} bytes, maxBodyBytes is ${maxBodyBytes}`,
    path: [place.index],
  });
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
): Promise<AcceptedEntry[]> {
  const { format, dialect } = rules;
  if (format === 1) {
    return await readMessages(messages, {
      schema: contract({ dialect }).WebhookMessageV1,
      store: (data, index) => acceptV1(data, index, rules),
      giveWay,
    });
  }
  const toBytes = sharedBytes(Array.isArray(messages) ? messages.length : 0);
  return await readMessages(messages, {
    schema: draftReader(dialect),
    store: (draft, index) => acceptV2(draft, index, { ...rules, toBytes }),
    giveWay,
  });
}

/** The id is fixed here, before the first attempt, and never changes (D21). */
function acceptV2(
  draft: ReadDraft,
  index: number,
  { newId, toBytes, maxBodyBytes }: AcceptRules & { readonly toBytes: BytesOf },
): AcceptedEntry {
  const { messageId = newId(), messageType, message, application: applicationId = '' } = draft;
  const text = { message_id: messageId, message_type: messageType, message };
  return acceptedEntry({ index, applicationId }, storeText(text, toBytes), maxBodyBytes);
}

/** An element of format v1 has no message_id: in the report its own id stands for it. */
function acceptV1(
  data: object,
  index: number,
  { newId, maxBodyBytes }: AcceptRules,
): AcceptedEntry {
  const messageId = ownId(data, 'id') || ownId(data, 'event_id') || newId();
  const place = { index, applicationId: applicationOf(data) ?? '' };
  return acceptedEntry(place, storeV1(messageId, data), maxBodyBytes);
}

type Ids = Readonly<Partial<Record<'id' | 'event_id', string | null>>>;

/** An inherited id, of a polluted prototype, would be every message's. */
function ownId(data: Ids, key: keyof Ids): string | null | undefined {
  return Object.hasOwn(data, key) ? data[key] : undefined;
}
