/** Turns the caller's messages into bytes: validated, given an id and serialised, once. */
import { contract, type Dialect } from '../contract/index.ts';
import { SecurityEventError } from '../errors.ts';
import type { Format, QueueEntry, StoredMessage } from '../queue/queue.ts';
import type { YieldToEventLoop } from '../runtime/yield-to-event-loop.ts';
import {
  BRACKET_BYTES,
  type BytesOf,
  maxElementBytes,
  sharedBytes,
  storeText,
  storeV1,
} from './encoder.ts';
import {
  applicationOf,
  draftReader,
  type MessageSchema,
  type ReadDraft,
  readMessages,
} from './read-messages.ts';

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
  readonly format: Format;
  readonly dialect: Dialect;
  readonly maxBodyBytes: number;
  /** Makes the ids of messages that have none. */
  readonly newId: () => string;
}

/**
 * Accepts all messages or none, before anything is sent.
 *
 * @throws SecurityEventError `ERR_INVALID_MESSAGE` or `ERR_MESSAGE_TOO_LARGE`; its `path` begins
 * with the index of the message.
 */
export async function acceptMessages(
  messages: unknown,
  rules: AcceptRules,
  yieldToEventLoop: YieldToEventLoop,
): Promise<AcceptedEntry[]> {
  const { format, dialect } = rules;
  const entries: AcceptedEntry[] = [];
  const read = <Given extends object>(schema: MessageSchema<Given>, accept: Accept<Given>) => {
    const store = (given: Given, index: number): undefined => {
      entries.push(accept(given, index));
    };
    return readMessages(messages, { schema, store, yieldToEventLoop });
  };
  if (format === 1) await read(contract({ dialect }).WebhookMessageV1, acceptV1(rules));
  else {
    const toBytes = sharedBytes(Array.isArray(messages) ? messages.length : 0);
    await read(draftReader(dialect), acceptV2(rules, toBytes));
  }
  return entries;
}

/** Made once for each call: reading the rules again for each message takes twice as long. */
type Accept<Given> = (given: Given, index: number) => AcceptedEntry;

/** The id is fixed here, before the first attempt, and never changes. */
function acceptV2({ newId, maxBodyBytes }: AcceptRules, toBytes: BytesOf): Accept<ReadDraft> {
  return ({ messageId = newId(), messageType, message, application = '' }, index) => {
    const stored = storeText(
      { message_id: messageId, message_type: messageType, message },
      toBytes,
    );
    return acceptedEntry({ index, applicationId: application }, stored, maxBodyBytes);
  };
}

/** An element of format v1 has no message_id: reports use its own id instead. */
function acceptV1({ newId, maxBodyBytes }: AcceptRules): Accept<object> {
  return (data, index) => {
    const messageId = ownId(data, 'id') || ownId(data, 'event_id') || newId();
    const place = { index, applicationId: applicationOf(data) ?? '' };
    return acceptedEntry(place, storeV1(messageId, data), maxBodyBytes);
  };
}

type Ids = Readonly<Partial<Record<'id' | 'event_id', string | null>>>;

/** An id inherited from a polluted prototype would be the same for every message. */
function ownId(data: Ids, key: keyof Ids): string | null | undefined {
  return Object.hasOwn(data, key) ? data[key] : undefined;
}
