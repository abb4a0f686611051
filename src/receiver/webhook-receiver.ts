/** The other end of channel B: from a request to its answer, and to messages that are handled once. */
import { SecurityEventError } from '../errors.ts';
import { invalidOption } from '../option-rules.ts';
import { readProperty } from '../own-properties.ts';
import { systemClock } from '../runtime/clock.ts';
import { ignoreRejection } from '../runtime/ignore-rejection.ts';
import { isPromiseLike } from '../runtime/is-promise-like.ts';
import { verify } from '../webhook/signature.ts';
import { BodyBudget, type BodyReading } from './body-budget.ts';
import { isFresh } from './is-fresh.ts';
import { OnceEach } from './once-each.ts';
import { type ParsedBody, parseBody, type ReceivedMessage } from './parse-body.ts';
import { type ReceiverOptions, readReceiverOptions, type Settings } from './receiver-options.ts';
import { REFUSALS, type RefusalReason, refusalOfHead } from './refusals.ts';

/** A request as an adapter shows it to the receiver. */
export interface WebhookRequest {
  readonly method: string | undefined;
  /** A header by its name in lower case. */
  header(name: string): string | undefined;
  /**
   * Reads the body. Resolves to undefined if it has more than `maxBytes`, or if `reading` refuses it.
   * Rejects if it does not come to its end, and with `ERR_RAW_BODY_GONE` if somebody has read it.
   *
   * @param reading counts the bytes of the body with those of all others (`maxUnverifiedBytes`).
   */
  readBody(maxBytes: number, reading: BodyReading): Promise<Uint8Array | undefined>;
}

export interface WebhookAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Why it was refused, in a word; empty where it was taken. */
  readonly text: string;
  /**
   * What is left to do once the answer is on its way, where `answer` is `'received'`: an adapter calls
   * it then, whatever became of the answer: until it is called, the body counts as in hand, and `idle`
   * waits. It resolves when the messages are handled, and never rejects.
   */
  readonly handle?: (() => Promise<void>) | undefined;
}

export interface WebhookReceiver {
  /**
   * For adapters: the answer to a request. Rejects with `ERR_RAW_BODY_GONE` where `readBody` does, and
   * with nothing else.
   */
  receive(request: WebhookRequest): Promise<WebhookAnswer>;
  /** Resolves when all that was taken is handled: before a process ends, once its server is closed. */
  idle(): Promise<void>;
}

/**
 * Returns the receiver that an adapter was given. Throws `ERR_INVALID_OPTION` for anything else (options, for
 * one), when the adapter is made and not at its first request.
 */
export function checkedReceiver(receiver: WebhookReceiver): WebhookReceiver {
  const given: unknown = receiver;
  const isObject = typeof given === 'object' && given !== null;
  if (isObject && typeof readProperty(given, 'receive') === 'function') return receiver;
  throw invalidOption('expected what `createWebhookReceiver` made', ['receiver']);
}

/**
 * Makes a receiver of webhooks, to be given to an adapter: `nodeHandler`, `expressHandler`,
 * `fastifyPlugin` or `fetchHandler`. It verifies the signature over the raw bytes, reads both formats,
 * leaves out what came before, and answers before or after the messages are handled, as `answer` says.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION` or `ERR_INVALID_SECRET`; its `path` names the option.
 */
export function createWebhookReceiver(options: ReceiverOptions): WebhookReceiver {
  return new Receiver(readReceiverOptions(options));
}

class Receiver implements WebhookReceiver {
  readonly #settings: Settings;
  readonly #once: OnceEach | undefined;
  readonly #unverified: BodyBudget;
  /** Of bodies that were taken and whose messages are not yet handled. */
  #inHandBytes = 0;
  readonly #inHand = new Set<Promise<unknown>>();

  constructor(settings: Settings) {
    this.#settings = settings;
    const { maxUnverifiedBytes, bodyTimeoutMs } = settings;
    const limits = { maxBytes: maxUnverifiedBytes, timeoutMs: bodyTimeoutMs };
    this.#unverified = new BodyBudget(limits, systemClock);
    if (settings.duplicates !== false) this.#once = new OnceEach(settings.duplicates);
  }

  async receive(request: WebhookRequest): Promise<WebhookAnswer> {
    const head = headOf(request);
    const { signature } = head;
    const early = refusalOfHead(head, this.#settings.maxBodyBytes);
    if (early !== undefined) return this.#refuse(early, { signature });
    if (this.#isBusy()) return this.#refuse('busy');
    // Before the body: one that fails or hangs must not cost the memory of a body for each request.
    const asked = this.#secrets();
    // Others may begin to read in this turn: nothing is waited for without need.
    const secrets = isPromiseLike(asked) ? await asked : asked;
    if (secrets === undefined) return this.#refuse('failed');
    const body = await this.#bodyOf(request);
    if (typeof body === 'string') return this.#refuse(body);
    try {
      const parsed = this.#read(body, signature, secrets);
      if (typeof parsed === 'string') return this.#refuse(parsed, { body, signature });
      // Others were taken while this one was read.
      if (this.#isBusy()) return this.#refuse('busy');
      return await this.#take(parsed, body.length);
    } catch (error) {
      this.#tell(error, []);
      return this.#refuse('failed');
    }
  }

  #isBusy(): boolean {
    return this.#inHandBytes >= this.#settings.maxInHandBytes;
  }

  #secrets(): readonly string[] | Promise<readonly string[] | undefined> {
    const asked = this.#settings.secret();
    if (!isPromiseLike(asked)) return asked;
    return asked.catch((error: unknown) => {
      this.#tell(error, []);
      return undefined;
    });
  }

  async #bodyOf(request: WebhookRequest): Promise<Uint8Array | RefusalReason> {
    const { maxBodyBytes } = this.#settings;
    const reading = this.#unverified.open(maxBodyBytes);
    try {
      const body = await request.readBody(maxBodyBytes, reading);
      return body ?? reading.refusal ?? 'body-too-large';
    } catch (error) {
      // That a sender goes away is none of the host's errors.
      if (!(error instanceof SecurityEventError)) return 'incomplete';
      this.#tell(error, []);
      throw error;
    } finally {
      reading.end();
    }
  }

  async idle(): Promise<void> {
    while (this.#inHand.size > 0) await Promise.allSettled(this.#inHand);
  }

  #read(
    body: Uint8Array,
    signature: string | undefined,
    secrets: readonly string[],
  ): ParsedBody | RefusalReason {
    const { toleranceMs, onInvalid } = this.#settings;
    if (!verify(body, signature, secrets)) return 'signature-wrong';
    const parsed = parsedOrNothing(body);
    if (parsed === undefined) return 'body-invalid';
    if (parsed.refused.length > 0 && onInvalid === undefined) return 'message-invalid';
    const isStale = (found: ReceivedMessage): boolean =>
      found.format === 2 && !isFresh(found.message, { toleranceMs: toleranceMs as number });
    return toleranceMs !== undefined && parsed.messages.some(isStale) ? 'stale' : parsed;
  }

  async #take(parsed: ParsedBody, bytes: number): Promise<WebhookAnswer> {
    const { begin, ended } = startable(() => this.#handle(parsed));
    // From here on, so that `idle` waits for what is answered and not yet begun, too.
    this.#inHandBytes += bytes;
    const isHandled = this.#outcome(ended, parsed.messages, bytes);
    this.#inHand.add(isHandled);
    void isHandled.then(() => this.#inHand.delete(isHandled));
    const handle = async (): Promise<void> => {
      begin();
      await isHandled;
    };
    if (this.#settings.answer === 'received') return { ...TAKEN, handle };
    begin();
    return (await isHandled) ? TAKEN : this.#refuse('failed');
  }

  /** Whether it was handled; never rejects. */
  async #outcome(
    ended: Promise<void>,
    messages: readonly ReceivedMessage[],
    bytes: number,
  ): Promise<boolean> {
    try {
      await ended;
      return true;
    } catch (error) {
      this.#tell(error, messages);
      return false;
    } finally {
      this.#inHandBytes -= bytes;
    }
  }

  async #handle({ messages, refused }: ParsedBody): Promise<void> {
    const { onMessages, onInvalid } = this.#settings;
    const handle = async (news: readonly ReceivedMessage[]): Promise<void> => {
      await onMessages(news);
    };
    if (refused.length > 0) await onInvalid?.(refused);
    if (messages.length === 0) return;
    await (this.#once === undefined ? handle(messages) : this.#once.run(messages, handle));
  }

  #refuse(
    reason: RefusalReason,
    seen: { readonly body?: Uint8Array; readonly signature?: string | undefined } = {},
  ): WebhookAnswer {
    const { status, headers } = REFUSALS[reason];
    const { onRefused } = this.#settings;
    quietly(() => onRefused?.({ reason, status, ...seen }));
    const text = `${reason}\n`;
    return { status, headers: { ...PLAIN, ...headers }, text, handle: undefined };
  }

  #tell(error: unknown, messages: readonly ReceivedMessage[]): void {
    quietly(() => this.#settings.onError?.(error, messages));
  }
}

const PLAIN = { 'content-type': 'text/plain; charset=utf-8' };

const TAKEN: WebhookAnswer = { status: 204, headers: {}, text: '', handle: undefined };

const headOf = (request: WebhookRequest) => ({
  method: request.method,
  contentType: request.header('content-type'),
  contentEncoding: request.header('content-encoding'),
  contentLength: request.header('content-length'),
  signature: request.header('x-svc-integrity'),
});

function parsedOrNothing(body: Uint8Array): ParsedBody | undefined {
  try {
    return parseBody(body);
  } catch (error) {
    if (error instanceof SecurityEventError) return undefined;
    throw error;
  }
}

/** What listens must not change what a sender is answered. */
function quietly(tell: () => unknown): void {
  try {
    ignoreRejection(tell());
  } catch {
    // There is nobody left to tell.
  }
}

/** Work that is begun once, however often it is told to. */
function startable(work: () => Promise<void>): {
  readonly begin: () => void;
  readonly ended: Promise<void>;
} {
  let begin = nothing;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  return { begin, ended: begun.then(work) };
}

const nothing = (): void => {};
