/** The webhook receiver: verifies and answers requests, and handles each message once. */
import { SecurityEventError } from '../errors.ts';
import { invalidOption } from '../option-rules.ts';
import { hasMethods } from '../own-properties.ts';
import { CallsInProgress } from '../runtime/calls-in-progress.ts';
import { systemClock } from '../runtime/clock.ts';
import { deferred } from '../runtime/deferred.ts';
import { debugError } from '../runtime/diagnostics.ts';
import { ignoreRejection, isPromiseLike, tryCall } from '../runtime/host-calls.ts';
import { verify } from '../webhook/signature.ts';
import { BodyBudget, type BodyReading } from './body-budget.ts';
import { Deduplicator } from './duplicates.ts';
import { isFresh } from './is-fresh.ts';
import {
  type ParsedBody,
  parseBody,
  type ReceivedMessage,
  type RefusedElement,
} from './parse-body.ts';
import {
  type ReceiverOptions,
  type Refusal,
  readReceiverOptions,
  type Settings,
} from './receiver-options.ts';
import {
  CLOSE,
  isDisconnection,
  type RefusalReason,
  refusalOfHead,
  refusedAnswer,
  SIGNATURE_HEADER,
} from './refusals.ts';

/** A request, as an adapter passes it to the receiver. */
export interface WebhookRequest {
  readonly method: string | undefined;
  /** Returns a header by its name in lower case. */
  header(name: string): string | undefined;
  /**
   * Reads the raw bytes of the body, never text. Resolves to undefined if `reading` refuses it. More than `maxBytes` are
   * refused, too: reading can end there.
   * Rejects with `ERR_RAW_BODY_GONE` if it was read before, and if the sender disconnects with an `AbortError` or the
   * code `ECONNRESET`, `ECONNABORTED` or `ERR_STREAM_PREMATURE_CLOSE`. Other errors are passed to `onError`.
   *
   * @param reading counts the bytes of all bodies together (`maxUnverifiedBytes`).
   */
  readBody(maxBytes: number, reading: BodyReading): Promise<Uint8Array | undefined>;
}

export interface WebhookAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The reason of a refusal; otherwise empty. */
  readonly text: string;
  /**
   * Present only with `answer: 'received'`: handles the messages. An adapter must call it after the response, even
   * if that failed: until then the body counts for `maxHandlingBytes`, and `idle` waits. Never rejects.
   */
  readonly handle?: (() => Promise<void>) | undefined;
}

export interface WebhookReceiver {
  /**
   * Returns the answer to a request, for adapters. Rejects only with `ERR_RAW_BODY_GONE`, and with
   * `ERR_INVALID_OPTION` if `readBody` gives no bytes.
   */
  receive(request: WebhookRequest): Promise<WebhookAnswer>;
  /** Resolves when all accepted messages are handled. Await it after closing the server, before exit. */
  idle(): Promise<void>;
}

/**
 * Returns the receiver. Throws `ERR_INVALID_OPTION` for another value, such as the options of a receiver: the
 * mistake shows when the adapter is created, not at its first request.
 */
export function checkReceiver(receiver: WebhookReceiver): WebhookReceiver {
  if (hasMethods(receiver, 'receive')) return receiver;
  throw invalidOption('expected the result of `createWebhookReceiver`', ['receiver']);
}

/**
 * Creates a receiver of webhooks for an adapter: `nodeHandler`, `expressHandler`, `fastifyPlugin` or
 * `fetchHandler`. It verifies the signature over the raw bytes, parses both formats, drops duplicates, and
 * answers before or after the messages are handled (see `answer`).
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION` or `ERR_INVALID_SECRET`; its `path` names the option.
 */
export function createWebhookReceiver(options: ReceiverOptions): WebhookReceiver {
  return new Receiver(readReceiverOptions(options));
}

class Receiver implements WebhookReceiver {
  readonly #settings: Settings;
  readonly #deduplicator: Deduplicator | undefined;
  readonly #unverified: BodyBudget;
  /** Bytes of accepted bodies whose messages are not handled yet. */
  #pendingBytes = 0;
  readonly #pending = new CallsInProgress();

  constructor(settings: Settings) {
    this.#settings = settings;
    const { maxUnverifiedBytes, bodyTimeoutMs } = settings;
    const limits = { maxBytes: maxUnverifiedBytes, timeoutMs: bodyTimeoutMs };
    this.#unverified = new BodyBudget(limits, systemClock);
    if (settings.duplicates !== false) this.#deduplicator = new Deduplicator(settings.duplicates);
  }

  async receive(request: WebhookRequest): Promise<WebhookAnswer> {
    const signature = request.header(SIGNATURE_HEADER);
    // Closing also ends a chunked body, which has no known length.
    const refuse = (reason: RefusalReason, closes = isChunked(request)) =>
      this.#refuse({ reason, signature }, closes && isHttp1(request) ? CLOSE : {});
    const early = refusalOfHead(request, this.#settings.maxBodyBytes);
    if (early === 'body-too-large') return refuse(early, true);
    if (early !== undefined) return refuse(early);
    if (this.#isBusy()) return refuse('busy');
    // Called before the body is read: while `secret` fails or hangs, bodies must not fill the memory.
    const found = this.#secrets();
    // Awaits only promises: with listeners added in this turn, the body is complete even if the host reads it too.
    const secrets = isPromiseLike(found) ? await found : found;
    if (secrets === undefined) return refuse('failed');
    const body = await this.#bodyOf(request);
    if (typeof body === 'string') return refuse(body, true);
    const answer = await this.#answerTo(body, signature, secrets);
    if (typeof answer !== 'string') return answer;
    return this.#refuse({ reason: answer, body, signature });
  }

  async #answerTo(
    body: Uint8Array,
    signature: string | undefined,
    secrets: readonly string[],
  ): Promise<WebhookAnswer | RefusalReason> {
    try {
      const parsed = this.#verifyAndParse(body, signature, secrets);
      if (typeof parsed === 'string') return parsed;
      // Others may have been accepted while this one was read.
      if (this.#isBusy()) return 'busy';
      return await this.#accept(parsed, body.length);
    } catch (error) {
      this.#reportError(error, []);
      return 'failed';
    }
  }

  #isBusy(): boolean {
    return this.#pendingBytes >= this.#settings.maxHandlingBytes;
  }

  #secrets(): readonly string[] | Promise<readonly string[] | undefined> {
    const found = this.#settings.secret();
    if (!isPromiseLike(found)) return found;
    return found.catch((error: unknown) => {
      this.#reportError(error, []);
      return undefined;
    });
  }

  async #bodyOf(request: WebhookRequest): Promise<Uint8Array | RefusalReason> {
    const { maxBodyBytes } = this.#settings;
    const reading = this.#unverified.open(maxBodyBytes);
    try {
      const body = await request.readBody(maxBodyBytes, reading);
      if (body !== undefined && !ArrayBuffer.isView(body)) {
        throw invalidOption('expected readBody to resolve to a Uint8Array or undefined', [
          'readBody',
        ]);
      }
      return body !== undefined && body.byteLength <= maxBodyBytes
        ? body
        : (reading.refusal ?? 'body-too-large');
    } catch (error) {
      if (reading.refusal !== undefined) return reading.refusal;
      if (isDisconnection(error)) return 'incomplete';
      this.#reportError(error, []);
      if (error instanceof SecurityEventError) throw error;
      return 'failed';
    } finally {
      reading.end();
    }
  }

  async idle(): Promise<void> {
    while (this.#pending.count > 0) await this.#pending.waitForAll();
  }

  #verifyAndParse(
    body: Uint8Array,
    signature: string | undefined,
    secrets: readonly string[],
  ): ParsedBody | RefusalReason {
    const { toleranceMs, onInvalid } = this.#settings;
    if (!verify(body, signature, secrets)) return 'signature-wrong';
    const parsed = tryParse(body);
    if (parsed === undefined) return 'body-invalid';
    if (parsed.refused.length > 0 && onInvalid === undefined) return 'message-invalid';
    const isStale = (found: ReceivedMessage): boolean =>
      found.format === 2 && !isFresh(found.message, { toleranceMs: toleranceMs as number });
    return toleranceMs !== undefined && parsed.messages.some(isStale) ? 'stale' : parsed;
  }

  async #accept(parsed: ParsedBody, bytes: number): Promise<WebhookAnswer | 'failed'> {
    const start = deferred();
    // Pending from here on, so that `idle` also waits for handling that has not started.
    this.#pendingBytes += bytes;
    const handling = this.#handleAfter(start.promise, parsed, bytes);
    const call = this.#pending.begin();
    void handling.then(() => this.#pending.end(call));
    const handle = async (): Promise<void> => {
      start.resolve();
      await handling;
    };
    if (this.#settings.answer === 'received') return { ...ACCEPTED, handle };
    start.resolve();
    return (await handling) ? ACCEPTED : 'failed';
  }

  /** Resolves to whether everything was handled. Never rejects. */
  async #handleAfter(start: Promise<void>, parsed: ParsedBody, bytes: number): Promise<boolean> {
    await start;
    // Both, even if the first fails: with `answer: 'received'` nothing is sent again.
    const isInvalidHandled = await this.#handleInvalid(parsed.refused);
    const areHandled = await this.#handleMessages(parsed.messages);
    this.#pendingBytes -= bytes;
    return isInvalidHandled && areHandled;
  }

  async #handleInvalid(elements: readonly RefusedElement[]): Promise<boolean> {
    try {
      if (elements.length > 0) await this.#settings.onInvalid?.(elements);
      return true;
    } catch (error) {
      this.#reportError(error, []);
      return false;
    }
  }

  async #handleMessages(messages: readonly ReceivedMessage[]): Promise<boolean> {
    let handling = messages;
    const handle = async (fresh: readonly ReceivedMessage[]): Promise<void> => {
      handling = fresh;
      // A copy: the handler may empty it, and `onError` gets them all.
      await this.#settings.onMessages([...fresh]);
    };
    try {
      if (messages.length > 0)
        await (this.#deduplicator?.run(messages, handle) ?? handle(messages));
      return true;
    } catch (error) {
      this.#reportError(error, handling);
      return false;
    }
  }

  #refuse(refusal: Omit<Refusal, 'status'>, connection = {}): WebhookAnswer {
    const answer = refusedAnswer(refusal.reason, connection);
    ignoringErrors(() => this.#settings.onRefused?.({ ...refusal, status: answer.status }));
    return answer;
  }

  #reportError(error: unknown, messages: readonly ReceivedMessage[]): void {
    ignoringErrors(() => this.#settings.onError?.(error, messages));
    debugError('receiver', error);
  }
}

const isChunked = (request: WebhookRequest): boolean =>
  request.header('transfer-encoding') !== undefined;

/** HTTP/2 has an authority instead of `host`, and forbids the header `connection`. */
const isHttp1 = (request: WebhookRequest): boolean => request.header('host') !== undefined;

const ACCEPTED: WebhookAnswer = { status: 204, headers: {}, text: '', handle: undefined };

function tryParse(body: Uint8Array): ParsedBody | undefined {
  try {
    return parseBody(body);
  } catch (error) {
    if (error instanceof SecurityEventError) return undefined;
    throw error;
  }
}

/** Errors of the host's listeners must not change the response. */
const ignoringErrors = (call: () => unknown): void => tryCall(() => ignoreRejection(call()));
