/** A message that was accepted and not delivered, as it is handed back to the caller. */
import { ownProperties } from '../own-properties.ts';
import type { DeadLetter, DeadReason, Format, StoredMessage } from '../queue/queue.ts';
import { encodeBody, formatTimestamp } from '../webhook/encoder.ts';
import type { FailureCode } from '../webhook/outcome.ts';

interface Kept {
  readonly applicationId: string;
  readonly stored: StoredMessage;
  readonly sends: number;
}

/** Its content is parsed when it is asked for, and does not show where the object is printed. */
export class KeptMessage {
  readonly applicationId: string;
  readonly message_id: string;
  readonly format: Format;
  /** How often it was sent. */
  readonly sends: number;
  readonly #stored: StoredMessage;

  constructor({ applicationId, stored, sends }: Kept) {
    this.applicationId = applicationId;
    this.message_id = stored.messageId;
    this.format = stored.format;
    this.sends = sends;
    this.#stored = stored;
  }

  /**
   * What was to be sent. In format 2 it can be given to `send` again:
   * `{ message_id, message_type, message }`. In format 1 it is the element.
   */
  get content(): Readonly<Record<string, unknown>> {
    const outgoing = { stored: this.#stored, sends: 0 };
    const body = encodeBody([outgoing], formatTimestamp(0)).toString();
    const [element] = JSON.parse(body) as [Readonly<Record<string, unknown>>];
    if (this.format === 1) return element;
    const { message_id, message_type, message } = element;
    return { message_id, message_type, message };
  }
}

type Ending = Pick<DeadMessage, 'status' | 'failure'>;

/** A message whose attempts are over, kept for `replay`. */
export class DeadMessage extends KeptMessage {
  /** Names it in `replay` and `purge`. */
  readonly id: string;
  readonly reason: DeadReason;
  /** How its last attempt ended; neither where there was none. */
  readonly status?: number;
  readonly failure?: FailureCode;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  readonly diedAt: number;

  constructor(letter: DeadLetter) {
    super(letter);
    this.id = letter.id;
    this.reason = letter.reason;
    const { status, failure } = ownProperties(letter.lastAttempt as Ending);
    if (status !== undefined) this.status = status;
    if (failure !== undefined) this.failure = failure;
    this.acceptedAt = letter.acceptedAt;
    this.diedAt = letter.diedAt;
  }
}
