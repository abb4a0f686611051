/** A connection to NATS, and requests that always end. */
import type { Clock } from '../../system/clock.ts';
import { untraced } from '../../system/untraced.ts';
import { Closed, failure, Refusal, Unanswered } from './jetstream-failure.ts';
import { isConnection, type ReadOptions } from './jetstream-options.ts';
import type { LoadNats } from './load-nats.ts';
import type { Manager, Nats, NatsHeaders, NatsMessage } from './nats.ts';

/** After so long without an answer a request is sent again, where it may be: its server may be gone. */
const TRY_MS = 3000;
/** Before it is sent again where nobody was there to answer. */
const PAUSE_MS = 100;
/** How often waiting requests are looked at. */
const SWEEP_MS = 250;

/** What is asked of a server that is about to go is asked again of another one. */
const MANAGING_MS = 5000;

export interface Link {
  readonly nats: Nats;
  readonly manager: Manager;
  readonly isOwn: boolean;
  readonly newHeaders: () => NatsHeaders;
}

export async function linked(options: ReadOptions, load: LoadNats): Promise<Link> {
  const { connection, callTimeoutMs } = options;
  const timeout = Math.min(callTimeoutMs, MANAGING_MS);
  const packages = await load();
  try {
    const isOwn = !isConnection(connection);
    const nats = isOwn
      ? await untraced(() => packages.connect(connectOptions(options)))
      : (connection as unknown as Nats);
    const manager = await packages.manager(nats, { timeout, checkAPI: false });
    return { nats, manager, isOwn, newHeaders: packages.headers };
  } catch (error) {
    throw failure(error);
  }
}

const connectOptions = ({ connection, callTimeoutMs }: ReadOptions): object => ({
  name: 'security-event-delivery',
  timeout: callTimeoutMs,
  // A server that is away for an hour must not end the queue.
  maxReconnectAttempts: -1,
  reconnectTimeWait: 250,
  reconnectJitter: 100,
  pingInterval: 10_000,
  // Nor one that refuses a login for a while: a secret may be on its way to it.
  ignoreAuthErrorAbort: true,
  ...connection,
});

interface Waiting {
  readonly endsMs: number;
  readonly resolve: (message: NatsMessage) => void;
  readonly reject: (error: Error) => void;
}

export interface Asking {
  /** Told whether what was asked before had no answer, so that it may have been done. */
  readonly headers?: (isInDoubt: boolean) => NatsHeaders;
  /** The request does nothing when it comes twice. */
  readonly isRepeatable?: boolean;
  /** Where it tells nothing it counts as none. */
  readonly isAnswer?: (message: NatsMessage) => boolean;
}

interface Try {
  readonly subject: string;
  readonly payload: Uint8Array | string;
  readonly headers: NatsHeaders | undefined;
  readonly tryMs: number;
}

/** Requests of which any number are under way: one subscription takes all answers. */
export class Requests {
  readonly #nats: Nats;
  readonly #clock: Pick<Clock, 'monotonicMs' | 'idle'>;
  readonly #callTimeoutMs: number;
  readonly #inbox: string;
  readonly #waiting = new Map<string, Waiting>();
  readonly #stop = new AbortController();
  #subscription: { unsubscribe(): void } | undefined;
  #count = 0;
  #isSweeping = false;

  constructor(
    nats: Nats,
    surroundings: { readonly clock: Pick<Clock, 'monotonicMs' | 'idle'>; readonly inbox: string },
    callTimeoutMs: number,
  ) {
    this.#nats = nats;
    this.#clock = surroundings.clock;
    this.#inbox = surroundings.inbox;
    this.#callTimeoutMs = callTimeoutMs;
  }

  async ask(
    subject: string,
    payload: Uint8Array | string,
    { headers, isRepeatable = false, isAnswer }: Asking = {},
  ): Promise<NatsMessage> {
    const endsMs = this.#clock.monotonicMs() + this.#callTimeoutMs;
    this.#count += 1;
    // The same for all tries: an answer that is late is one all the same.
    const id = this.#count.toString(36);
    let isInDoubt = false;
    for (;;) {
      try {
        const tryMs = isRepeatable ? Math.min(TRY_MS, this.#callTimeoutMs) : this.#callTimeoutMs;
        const told = headers?.(isInDoubt);
        const answer = await this.#once(id, { subject, payload, headers: told, tryMs });
        if (isAnswer?.(answer) === false) throw new Unanswered('no answer yet');
        return answer;
      } catch (error) {
        const isOver = this.#clock.monotonicMs() + PAUSE_MS >= endsMs || this.#stop.signal.aborted;
        const isNobody = error instanceof Refusal && error.code === 503;
        isInDoubt ||= error instanceof Unanswered;
        if (isOver || !(isNobody || (isRepeatable && error instanceof Unanswered))) throw error;
        await this.#clock.idle(PAUSE_MS, this.#stop.signal);
      }
    }
  }

  #once(id: string, { subject, payload, headers, tryMs }: Try): Promise<NatsMessage> {
    return new Promise((resolve, reject) => {
      if (this.#stop.signal.aborted || this.#nats.isClosed()) throw new Closed();
      this.#listen();
      const endsMs = this.#clock.monotonicMs() + tryMs;
      this.#waiting.set(id, { endsMs, resolve, reject });
      void this.#sweep();
      const reply = `${this.#inbox}.${id}`;
      this.#nats.publish(subject, payload, { reply, ...(headers && { headers }) });
    });
  }

  #listen(): void {
    this.#subscription ??= this.#nats.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#answered(message);
      },
    });
  }

  #answered(message: NatsMessage): void {
    const id = message.subject.slice(this.#inbox.length + 1);
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    if (message.headers?.code === 503) waiting.reject(new Refusal(503, 'nobody answers'));
    else waiting.resolve(message);
  }

  async #sweep(): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    while (this.#waiting.size > 0 && !this.#stop.signal.aborted) {
      await this.#clock.idle(SWEEP_MS, this.#stop.signal);
      const nowMs = this.#clock.monotonicMs();
      this.#fail(({ endsMs }) => endsMs <= nowMs);
    }
    this.#isSweeping = false;
  }

  #fail(isMeant: (waiting: Waiting) => boolean): void {
    for (const [id, waiting] of this.#waiting) {
      if (!isMeant(waiting)) continue;
      this.#waiting.delete(id);
      waiting.reject(new Unanswered('no answer in time'));
    }
  }

  /** The connection was lost: no answer will come to what was asked on it. */
  interrupted(): void {
    this.#fail(() => true);
  }

  end(): void {
    this.#stop.abort();
    this.#fail(() => true);
    if (!this.#nats.isClosed()) this.#subscription?.unsubscribe();
  }
}
