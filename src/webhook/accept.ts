/** Accepted messages: the entries of a queue, and of calls of `sendWebhook`. */
import { contract, type Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type { QueueEntry, StoredMessage } from '../queue/queue.ts';
import type { YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import { BRACKET_BYTES, maxElementBytes, toStoredV1 } from './encoder.ts';
import { applicationOf, type MessageSchema, own, readMessages } from './read-messages.ts';

/** The index of a message in its call, and its application. */
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

const COMMA_BYTES = 1;

/** @throws SecurityEventError `ERR_MESSAGE_TOO_LARGE` if the message alone exceeds `maxBodyBytes`. */
export function acceptedEntry(
  place: Place,
  stored: StoredMessage,
  maxBodyBytes: number,
): AcceptedEntry {
  const size = maxElementBytes(stored);
  const bytes = BRACKET_BYTES + size;
  if (bytes <= maxBodyBytes) return new AcceptedEntry(place, stored, size + COMMA_BYTES);
  throw new SecurityEventError('ERR_MESSAGE_TOO_LARGE', {
    detail: `message ${place.index} makes a request of ${bytes} bytes, maxBodyBytes is ${maxBodyBytes}`,
    path: [place.index],
  });
}

export interface AcceptRules {
  readonly dialect: Dialect;
  readonly maxBodyBytes: number;
  /** Makes the ids of elements that have none. */
  readonly newId: () => string;
}

/**
 * Accepts elements of format 1, which are sent as they are: all or none.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE` or `ERR_MESSAGE_TOO_LARGE`; its `path` begins
 * with the index of the element.
 */
export async function acceptElements(
  elements: unknown,
  { dialect, maxBodyBytes, newId }: AcceptRules,
  yieldToEventLoop: YieldToEventLoop,
): Promise<AcceptedEntry[]> {
  const schema: MessageSchema = contract({ dialect }).WebhookMessageV1;
  const entries: AcceptedEntry[] = [];
  const store = (data: object, index: number): undefined => {
    // An element of format 1 has no message_id: reports use its own id instead.
    const messageId = own(data, 'id') || own(data, 'event_id') || newId();
    const place = { index, applicationId: applicationOf(data) ?? '' };
    entries.push(acceptedEntry(place, toStoredV1(messageId, data), maxBodyBytes));
  };
  await readMessages(elements, { schema, store, yieldToEventLoop });
  return entries;
}
