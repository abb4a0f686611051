/**
 * A message whose text the reporter has put together of parts that were checked: it is not read again. No
 * entry exports this class, a draft does not lead to it, and what somebody else makes with its prototype
 * lacks its private field: so nobody else's message goes past the check.
 */
import type { Dialect } from '../contract/index.ts';
import { BlankDraft, draftReader, type ReadDraft } from '../webhook/draft-reader.ts';
import type { MessageSchema } from '../webhook/read-messages.ts';

export interface CheckedParts {
  readonly messageId: string;
  readonly messageType: string;
  /** As JSON. */
  readonly message: string;
  /** Whose it is (D31). */
  readonly application: string;
}

/**
 * A sender that has this reads them as what they are. Not of `Symbol.for`: another copy of this library has
 * another class, whose drafts it would check as any message, and refuse while a prototype is polluted.
 */
export const TAKES_CHECKED: unique symbol = Symbol('takes checked drafts');

export interface TakesChecked {
  readonly [TAKES_CHECKED]: true;
}

/** By what an object leads to its class. */
const CLASS = 'constructor';

/** Where another copy of this library is given one all the same, it reads it as any message. */
export class CheckedDraft {
  readonly #draft: ReadDraft;

  constructor({ messageId, messageType, message, application }: CheckedParts) {
    const draft = new BlankDraft();
    draft.messageId = messageId;
    draft.messageType = messageType;
    draft.message = message;
    draft.application = application;
    this.#draft = draft;
  }

  /** Whoever stands between reporter and sender holds drafts, and must not make any, nor have them read. */
  get [CLASS](): undefined {
    return undefined;
  }

  get message_id(): string {
    return this.#draft.messageId as string;
  }

  get message_type(): string {
    return this.#draft.messageType;
  }

  get message(): object {
    return JSON.parse(this.#draft.message) as object;
  }

  /** What the check would have given; nothing of what is not ours. No trap of a proxy is asked. */
  static read(given: unknown): ReadDraft | undefined {
    const isOurs = typeof given === 'object' && given !== null && #draft in given;
    return isOurs ? given.#draft : undefined;
  }
}

/** As whoever is handed it back may send it again. */
export function plainMessage(message: object): object {
  const draft = CheckedDraft.read(message);
  if (draft === undefined) return message;
  const { messageId: message_id, messageType: message_type, message: text } = draft;
  return { message_id, message_type, message: JSON.parse(text) as object };
}

/** Reads what was checked as it is, and checks everything else. */
export function unlessChecked(dialect: Dialect): MessageSchema<ReadDraft> {
  const reader = draftReader(dialect);
  return {
    safeParse: (given) => {
      const data = CheckedDraft.read(given);
      return data === undefined ? reader.safeParse(given) : { success: true, data };
    },
  };
}
