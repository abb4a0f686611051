/** Sends an input batch by batch, until it ends or continuing is pointless. */
import { MAX_MESSAGES_PER_REQUEST } from '../../contract/index.ts';
import {
  SecurityEventError,
  type SendOptions,
  type SendReport,
  sendWebhook,
  type UndeliveredMessage,
  type WebhookDestination,
} from '../../index.ts';
import { describeError } from '../errors.ts';
import { openInput } from '../input.ts';
import { showProgress, type Terminal } from '../terminal.ts';
import { wholeNumber } from '../values.ts';
import {
  type InputMessage,
  type InputRules,
  InvalidInput,
  type Place,
  readMessages,
} from './messages.ts';
import type { UndeliveredFile } from './undelivered-file.ts';

export interface SendCall {
  readonly destination: WebhookDestination;
  readonly options: SendOptions<'open' | 'strict', 1 | 2> & InputRules;
  readonly file: string | undefined;
  readonly terminal: Terminal;
}

export type SendEnd =
  | 'complete'
  | 'invalid-input'
  | 'receiver-down'
  | 'interrupted'
  | 'input-failed';

/** Undelivered messages with the same cause. */
export interface Cause {
  count: number;
  readonly first: Place & { readonly message_id?: string };
  readonly reason: UndeliveredMessage['reason'];
  readonly status?: number | undefined;
  readonly failure?: string | undefined;
  readonly detail?: string | undefined;
}

const MAX_BATCH_CHARACTERS = 32 * 1024 * 1024;

interface Batch {
  readonly messages: readonly InputMessage[];
  /** Why reading stopped after them. */
  readonly error?: unknown;
}

/** If reading fails, yields the error with the messages read before it: a pipe cannot be read again. */
async function* batchesOf(input: AsyncIterable<InputMessage>): AsyncGenerator<Batch> {
  let messages: InputMessage[] = [];
  let length = 0;
  try {
    for await (const message of input) {
      messages.push(message);
      length += message.length;
      if (messages.length < MAX_MESSAGES_PER_REQUEST && length < MAX_BATCH_CHARACTERS) continue;
      yield { messages };
      messages = [];
      length = 0;
    }
    if (messages.length > 0) yield { messages };
  } catch (error) {
    yield { messages, error };
  }
}

/** Statuses that may be due to the content, so that the next batch may succeed. */
const CONTENT_STATUSES: ReadonlySet<number | undefined> = new Set([400, 413, 422, 500]);

/** One run of `send`, and its counts so far. */
export class SendRun {
  end: SendEnd = 'complete';
  /** Why the input could not be read, or why undelivered messages could not be saved. */
  error: unknown;
  delivered = 0;
  undelivered = 0;
  requests = 0;
  retries = 0;
  /** Place of the last message that was sent. */
  sentTo: Place | undefined;
  /** Place of the last message that was read. */
  readTo: Place | undefined;
  readonly causes = new Map<string, Cause>();
  /** Where undelivered messages are saved. */
  savedTo: UndeliveredFile | undefined;
  readonly #call: SendCall;
  #isDown = false;

  constructor(call: SendCall) {
    this.#call = call;
  }

  get ok(): boolean {
    return this.end === 'complete' && this.undelivered === 0;
  }

  get saved(): { readonly path: string; readonly count: number } | undefined {
    const { path = '', count = 0 } = this.savedTo ?? {};
    return count === 0 ? undefined : { path, count };
  }

  async run(): Promise<void> {
    const { file, options, terminal } = this.#call;
    try {
      for await (const batch of batchesOf(readMessages(openInput(file, terminal), options))) {
        await this.#handleBatch(batch);
        const isPointless = this.end === 'receiver-down' && this.savedTo === undefined;
        if (terminal.signal.aborted || batch.error !== undefined || isPointless) break;
        const failed = this.undelivered === 0 ? '' : `, ${wholeNumber(this.undelivered)} failed`;
        await showProgress(terminal, `${wholeNumber(this.delivered)} messages delivered${failed}`);
      }
    } finally {
      await showProgress(terminal, '');
      await this.savedTo?.close();
      this.error ??= this.savedTo?.failure;
    }
  }

  /** Sends a batch, or only saves it if the run is over. */
  async #handleBatch({ messages, error }: Batch): Promise<void> {
    const { signal } = this.#call.terminal;
    this.readTo = messages.at(-1)?.place ?? this.readTo;
    this.error = error;
    const isCutOff = error !== undefined || signal.aborted;
    if (isCutOff || this.#isDown) {
      this.end = isCutOff ? reasonForEnd(error, signal) : 'receiver-down';
      // If the receiver is down, the rest is read only to be saved.
      await this.savedTo?.add(messages.map(({ message }) => message));
      return;
    }
    this.#isDown = !(await this.#send(messages));
    this.sentTo = this.readTo;
    if (signal.aborted) this.end = 'interrupted';
  }

  /** Returns whether to continue: a message was accepted, or the content may be why all were rejected. */
  async #send(batch: readonly InputMessage[]): Promise<boolean> {
    const { options } = this.#call;
    const { sent, report } = await this.#sendUsable(batch);
    this.delivered += report.delivered.length;
    this.requests += report.requests.length;
    this.retries += report.requests.filter(({ retry_count }) => retry_count > 0).length;
    const failed: object[] = [];
    for (const { index, message_id, ...why } of report.undelivered) {
      const { place, message } = sent[index] as InputMessage;
      this.#addUndelivered({ ...place, message_id }, why);
      // With the id under which it was sent, so that receivers recognise duplicates.
      failed.push(options.format === 1 ? message : { ...message, message_id });
    }
    await this.savedTo?.add(failed);
    return (
      report.delivered.length > 0 ||
      report.undelivered.every(({ status }) => CONTENT_STATUSES.has(status))
    );
  }

  #addUndelivered(first: Cause['first'], why: Omit<Cause, 'count' | 'first'>): void {
    this.undelivered += 1;
    const { reason, status, failure, detail } = why;
    const key = [reason, status, failure].join(' ');
    const known = this.causes.get(key) ?? { first, reason, status, failure, detail, count: 0 };
    known.count += 1;
    this.causes.set(key, known);
  }

  /** Leaves out messages that are too large, so that they do not block the others. */
  async #sendUsable(
    batch: readonly InputMessage[],
  ): Promise<{ readonly sent: readonly InputMessage[]; readonly report: SendReport }> {
    const { destination, options, terminal } = this.#call;
    const { signal } = terminal;
    let sent = batch;
    for (;;) {
      try {
        const messages = sent.map(({ message }) => message) as never[];
        return { sent, report: await sendWebhook(destination, messages, { ...options, signal }) };
      } catch (error) {
        if (!(error instanceof SecurityEventError) || error.code !== 'ERR_MESSAGE_TOO_LARGE')
          throw error;
        const found = sent[Number(error.path[0])];
        if (found === undefined) throw error;
        const detail = describeError(error).message;
        this.#addUndelivered(found.place, { reason: 'too-large', detail });
        await this.savedTo?.add([found.message]);
        sent = sent.filter((one) => one !== found);
      }
    }
  }
}

function reasonForEnd(error: unknown, { aborted }: AbortSignal): SendEnd {
  if (aborted) return 'interrupted';
  return error instanceof InvalidInput ? 'invalid-input' : 'input-failed';
}
