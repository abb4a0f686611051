/** A receiver of webhooks on a real socket, which follows a script. */
import { SecurityEventError } from '../errors.ts';
import {
  check,
  checkedElsewhere,
  invalidOption,
  MAX_TIMER_MS,
  type Rules,
  TEXT,
  usable,
} from '../option-rules.ts';
import { systemClock } from '../runtime/clock.ts';
import { deferred } from '../runtime/deferred.ts';
import { answer, maxBodyBytes } from './answer.ts';
import { type CertificateKind, certificateOf, type ReceiverTls } from './certificate.ts';
import { type Arrival, Connections } from './connections.ts';
import { describeRequest, type IncomingRequest, readUpTo } from './received-request.ts';
import { createSteps, type Script, type Steps } from './script.ts';
import type { Step } from './step.ts';

export interface ReceiverOptions {
  /**
   * The secret of the signatures, or several during a rotation. Sets `signatureOk` of each request; the script answers
   * those with a wrong signature, too. Default: signatures are not checked.
   */
  readonly secret?: string | readonly string[] | undefined;
  /**
   * A list with one step for each request, in the order in which their headers arrive; or a function that is called
   * when a request was read, and returns its step. Connection faults apply to the next connection, and only work in a
   * list or as `otherwise`. Reading faults returned by a function apply after the request was read.
   */
  readonly script?: Script | undefined;
  /** The step of requests after the end of the script. Default `{ status: 200 }`. */
  readonly otherwise?: Step | undefined;
  /** Makes it an https receiver. */
  readonly tls?: CertificateKind | ReceiverTls | undefined;
  /** The path of `url`. Requests to other paths are accepted, too. Default `/hook`. */
  readonly path?: string | undefined;
}

/** A request and its step. */
export interface ReceivedRequest extends IncomingRequest {
  readonly step: Step;
}

interface WaitOptions {
  readonly timeoutMs?: number | undefined;
}

export interface Receiver extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/hook`, or https. */
  readonly url: string;
  /** In the order in which they were read. Requests whose connection ended earlier are missing. */
  readonly requests: readonly ReceivedRequest[];
  /** Number of connections so far (with TLS: counted before the handshake). */
  readonly connectionCount: number;
  readonly openConnectionCount: number;
  /** PEM, for a client to trust as `ca`; undefined without TLS. */
  readonly certificate: string | undefined;
  /** How often each message id was accepted. A request counts as soon as its 2xx status was sent. */
  acceptedCounts(): ReadonlyMap<string, number>;
  /**
   * Resolves to the requests when at least `count` were read.
   *
   * Rejects with `ERR_TIMED_OUT` after `timeoutMs` (default 10,000; `Infinity` for no limit) or when the
   * receiver is closed, and with an error that the script's function throws.
   */
  waitForRequests(count: number, options?: WaitOptions): Promise<readonly ReceivedRequest[]>;
  /**
   * Ends every connection, stops listening, and resolves when the receiver no longer keeps the process alive.
   * Calls share one promise. Rejects with an error that the script's function threw.
   */
  close(): Promise<void>;
}

const RULES: Rules<keyof ReceiverOptions> = {
  secret: usable('a non-empty string or a list of them', isSecret),
  script: checkedElsewhere('a list of steps or a function'),
  otherwise: checkedElsewhere('a step'),
  tls: checkedElsewhere('the kind of a certificate, or options of a TLS server'),
  path: TEXT,
};

function isSecret(value: unknown): boolean {
  const secrets: readonly unknown[] = Array.isArray(value) ? value : [value];
  return secrets.every((secret) => typeof secret === 'string' && secret !== '');
}

/**
 * Starts a receiver on 127.0.0.1, on a free port.
 *
 * Rejects with `ERR_INVALID_OPTION`; the error's `path` begins with the name of the option.
 */
export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const given = check<ReceiverOptions>(options, RULES);
  const { path = '/hook' } = given;
  if (!path.startsWith('/')) {
    throw invalidOption('path: expected a path that begins with /', ['path']);
  }
  const receiver = new SocketReceiver(given);
  await receiver.listen(path);
  return receiver;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const WAIT_RULES: Rules<keyof WaitOptions> = {
  timeoutMs: usable('a number of at least 0', (value) => typeof value === 'number' && value >= 0),
};

class SocketReceiver implements Receiver {
  readonly requests: ReceivedRequest[] = [];
  readonly certificate: string | undefined;
  url = '';
  readonly #secrets: readonly string[];
  readonly #steps: Steps;
  readonly #connections: Connections;
  readonly #accepted = new Map<string, number>();
  /** Resolved, and replaced, when a wait may end. */
  #change = deferred();
  /** The error with which all waits reject from now on. */
  #end: Error | undefined;
  #scriptError: Error | undefined;
  #closing: Promise<void> | undefined;

  constructor({ secret = [], script, otherwise, tls }: ReceiverOptions) {
    this.#secrets = typeof secret === 'string' ? [secret] : secret;
    this.#steps = createSteps(script, otherwise);
    const settings = tls && certificateOf(tls);
    this.certificate = settings?.cert;
    this.#connections = new Connections({
      tls: settings,
      nextFault: () => this.#steps.forConnection(),
      onRequest: (arrival) => void this.#serve(arrival),
    });
  }

  async listen(path: string): Promise<void> {
    const port = await this.#connections.listen();
    const scheme = this.certificate === undefined ? 'http' : 'https';
    this.url = `${scheme}://127.0.0.1:${port}${path}`;
  }

  get connectionCount(): number {
    return this.#connections.count;
  }

  get openConnectionCount(): number {
    return this.#connections.openCount;
  }

  acceptedCounts(): ReadonlyMap<string, number> {
    return new Map(this.#accepted);
  }

  async waitForRequests(
    count: number,
    options: WaitOptions = {},
  ): Promise<readonly ReceivedRequest[]> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = check<WaitOptions>(options, WAIT_RULES);
    const waitEnded = new AbortController();
    const sleep = systemClock.sleep(Math.min(timeoutMs, MAX_TIMER_MS), waitEnded.signal);
    const timeUp = sleep.then(() => true);
    try {
      while (this.requests.length < count) {
        if (this.#end !== undefined) throw this.#end;
        if (await Promise.race([this.#change.promise, timeUp])) {
          const detail = `${this.requests.length} of ${count} requests`;
          throw new SecurityEventError('ERR_TIMED_OUT', { detail });
        }
      }
      return this.requests;
    } finally {
      waitEnded.abort();
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const detail = 'the receiver was closed';
    this.#endWaits(new SecurityEventError('ERR_TIMED_OUT', { detail }));
    await this.#connections.close();
    if (this.#scriptError !== undefined) throw this.#scriptError;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #serve(arrival: Arrival): Promise<void> {
    const { connection, incoming } = arrival;
    const early = this.#steps.forHeaders();
    const reading = await readUpTo(incoming, maxBodyBytes(early, incoming));
    if (reading === undefined) return;
    const request = {
      index: this.requests.length,
      receivedAt: systemClock.now(),
      ...describeRequest(incoming, reading, this.#secrets),
      socketId: connection.id,
    };
    const step = early ?? this.#decide(request);
    if (step === undefined) {
      connection.reset();
      return;
    }
    this.requests.push({ ...request, step: { ...step } });
    this.#changed();
    const onStatus = (status: number): void => {
      // A sender that went away gets no status.
      if (!incoming.socket.destroyed) this.#count(status, request);
    };
    await answer(step, { ...arrival, ...reading, url: this.url, onStatus });
  }

  /** Errors of the script's function reject the waits of the test. */
  #decide(request: IncomingRequest): Step | undefined {
    try {
      return this.#steps.forRequest(request);
    } catch (error) {
      this.#scriptError ??= error instanceof Error ? error : new Error(String(error));
      this.#endWaits(this.#scriptError);
      return undefined;
    }
  }

  #changed(): void {
    this.#change.resolve();
    this.#change = deferred();
  }

  #endWaits(error: Error): void {
    this.#end ??= error;
    this.#changed();
  }

  #count(status: number, { messageIds }: IncomingRequest): void {
    if (status > 299) return;
    for (const id of messageIds) this.#accepted.set(id, (this.#accepted.get(id) ?? 0) + 1);
  }
}
