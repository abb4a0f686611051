/**
 * What comes into a stream, in its order and without a gap: an ordered consumer, which is made anew
 * behind the last message whenever something of it, or it itself, was lost.
 */
import type { Clock } from '../../system/clock.ts';
import { Unanswered } from './jetstream-failure.ts';
import type { Manager, Nats, NatsMessage } from './nats.ts';
import { type Kept, TOLD } from './store.ts';

const HEARTBEAT_MS = 1000;
/** Without any sign of life for so long the consumer counts as lost. */
const SILENCE_MS = 3500;
const RETRY_MS = 250;
/** Who waits for something that a consumer does not tell leaves it after so long. */
const STALL_MS = 1000;
/** As long at most the next ones are given, each twice as long as the one before: where all is slow one tells in the end. */
const MAX_STALL_MS = 8000;
/** One heartbeat may be sent while a message is about to be; before the next one that has come. */
const IDLE_BEATS = 2;
const NS_PER_MS = 1e6;

export interface FeedOptions {
  readonly nats: Nats;
  readonly manager: Manager;
  readonly clock: Pick<Clock, 'monotonicMs' | 'idle'>;
  readonly newInbox: () => string;
  /** So long `start` waits for the next message of those that it is to wait for. */
  readonly callTimeoutMs: number;
  readonly stream: string;
  readonly subjects: string;
  readonly headersOnly: boolean;
  /** The last message of each subject, then what comes; else what comes behind a sequence. */
  readonly lastOfEach: boolean;
  /**
   * Whether the server's count of what is still to come is believed, as usual. 2.9.10 counts none
   * now and then where there are some: silence tells then, which takes seconds.
   */
  readonly isCountBelieved?: boolean;
  /** What a stamp of the server's means. */
  readonly stamp: (stampMs: number) => number;
  readonly onMessage: (message: Kept) => void;
  /** It was lost, and goes on. */
  readonly onResumed: () => void;
}

export class Feed {
  readonly #options: FeedOptions;
  readonly #stop = new AbortController();
  #subscription: { unsubscribe(): void } | undefined;
  #consumer: string | undefined;
  /** Counts what the consumer has sent. */
  #delivered = 0;
  #isWhole = true;
  #heardMs = 0;
  /** When the consumer was made; none: it is being made. */
  #madeMs = Number.POSITIVE_INFINITY;
  #stallMs = STALL_MS;
  /** Heartbeats one after the other of a consumer that has sent all it has. */
  #idleBeats = 0;
  /** The sequence up to which all has come. */
  #position = 0;
  #inbox = '';
  /** Aborted once what was there when it began has come. */
  readonly #caughtUp = new AbortController();
  readonly #waiting = new Map<AbortController, number>();

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** Resolves once what was there behind `position` has come. */
  async start(position: number): Promise<void> {
    this.#position = position;
    await this.#begin(this.#options.lastOfEach);
    void this.#watch();
    await this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    const { clock, callTimeoutMs } = this.#options;
    const { signal } = this.#caughtUp;
    while (!signal.aborted) {
      const before = this.#position;
      await clock.idle(callTimeoutMs, signal);
      if (!signal.aborted && this.#position === before) throw new Unanswered('no message in time');
    }
  }

  async #begin(fromLast: boolean): Promise<void> {
    const { nats, manager, stream, subjects, headersOnly, newInbox, clock } = this.#options;
    this.#subscription?.unsubscribe();
    const inbox = newInbox();
    this.#delivered = 0;
    this.#idleBeats = 0;
    this.#isWhole = true;
    this.#heardMs = clock.monotonicMs();
    this.#madeMs = Number.POSITIVE_INFINITY;
    this.#subscription = nats.subscribe(inbox, {
      callback: (error, message) => {
        if (error === null) this.#heard(inbox, message);
      },
    });
    this.#inbox = inbox;
    const from = fromLast
      ? { deliver_policy: 'last_per_subject' }
      : { deliver_policy: 'by_start_sequence', opt_start_seq: this.#position + 1 };
    const consumer = await manager.consumers.add(stream, {
      ...from,
      deliver_subject: inbox,
      filter_subject: subjects,
      ack_policy: 'none',
      max_deliver: 1,
      replay_policy: 'instant',
      headers_only: headersOnly,
      mem_storage: true,
      num_replicas: 1,
      flow_control: true,
      idle_heartbeat: HEARTBEAT_MS * NS_PER_MS,
    });
    this.#consumer = consumer.name;
    this.#madeMs = clock.monotonicMs();
    this.#counted(consumer.num_pending);
    // It ended meanwhile.
    if (this.#stop.signal.aborted) await this.end();
  }

  #heard(inbox: string, message: NatsMessage): void {
    if (inbox !== this.#inbox || this.#stop.signal.aborted) return;
    const { clock, nats } = this.#options;
    this.#heardMs = clock.monotonicMs();
    const { headers, reply } = message;
    if (headers?.code === 100) {
      // Flow control: what came before it has been taken in.
      if (reply !== undefined && reply !== '') nats.publish(reply);
      const stalled = headers.get('Nats-Consumer-Stalled');
      if (stalled !== '') nats.publish(stalled);
      const last = headers.get('Nats-Last-Consumer');
      if (last === '') return;
      if (Number(last) !== this.#delivered) this.#isWhole = false;
      else if (stalled === '') this.#sentAll();
      return;
    }
    if (reply === undefined || !this.#isWhole) return;
    this.#take(message, reply);
  }

  #counted(pending: number): void {
    if (pending === 0 && this.#options.isCountBelieved !== false) this.#caughtUp.abort();
  }

  /** The last of what was pending may have been deleted: then no message says that none is. */
  #sentAll(): void {
    this.#idleBeats += 1;
    if (this.#idleBeats >= IDLE_BEATS) this.#caughtUp.abort();
  }

  /** `$JS.ACK.<stream>.<consumer>.<deliveries>.<stream sequence>.<consumer sequence>.<ns>.<pending>` */
  #take(message: NatsMessage, reply: string): void {
    const parts = reply.split('.');
    const [sequence, number, stamp, pending] = parts.slice(-4) as [string, string, string, string];
    if (Number(number) !== this.#delivered + 1) {
      this.#isWhole = false;
      return;
    }
    this.#delivered += 1;
    this.#idleBeats = 0;
    this.#position = Number(sequence);
    this.#stallMs = STALL_MS;
    const { data, headers, subject } = message;
    const kept = {
      sequence: this.#position,
      subject,
      storedMs: this.#options.stamp(Math.floor(Number(stamp) / NS_PER_MS)),
      told: headers?.get(TOLD) ?? '',
      body: Buffer.from(data.buffer, data.byteOffset, data.byteLength),
    };
    try {
      this.#options.onMessage(kept);
    } catch {
      // Thrown on, it would end the client's reading of all that is to come.
    }
    this.#counted(Number(pending));
    for (const [over, awaited] of this.#waiting) {
      if (awaited <= this.#position) over.abort();
    }
  }

  async #watch(): Promise<void> {
    const { clock, manager, stream, onResumed } = this.#options;
    const { signal } = this.#stop;
    for (;;) {
      await clock.idle(RETRY_MS, signal);
      if (signal.aborted) return;
      const isSilent = clock.monotonicMs() - this.#heardMs > SILENCE_MS;
      if (this.#isWhole && !isSilent) continue;
      const lost = this.#consumer;
      this.#consumer = undefined;
      if (lost !== undefined) await manager.consumers.delete(stream, lost).catch(() => {});
      if (signal.aborted) return;
      const fromLast = this.#options.lastOfEach && this.#position === 0;
      const begun = await this.#begin(fromLast).then(
        () => true,
        () => false,
      );
      if (begun) onResumed();
      else this.#isWhole = false;
    }
  }

  /**
   * Resolves once all up to `sequence` has come, or after `ms`: what was removed meanwhile never comes.
   * Whether it has come.
   */
  async reached(sequence: number, ms: number): Promise<boolean> {
    if (sequence <= this.#position) return true;
    const over = new AbortController();
    this.#waiting.set(over, sequence);
    await this.#options.clock.idle(ms, over.signal);
    this.#waiting.delete(over);
    return sequence <= this.#position;
  }

  /**
   * As {@link reached}. Where nothing comes for a while a new consumer is made, and again after that: the server that
   * tells may lag behind for ever, and another one may not.
   */
  async insisted(sequence: number, ms: number): Promise<boolean> {
    const { clock } = this.#options;
    const endsMs = clock.monotonicMs() + ms;
    for (;;) {
      const before = this.#position;
      const leftMs = endsMs - clock.monotonicMs();
      if (await this.reached(sequence, Math.min(leftMs, STALL_MS))) return true;
      if (leftMs <= STALL_MS || this.#stop.signal.aborted) return false;
      if (this.#position === before) this.#leave();
    }
  }

  /** Others may wait as well: one that was made a moment ago has yet to tell something. */
  #leave(): void {
    const isOld = this.#options.clock.monotonicMs() - this.#madeMs >= this.#stallMs;
    if (!isOld || !this.#isWhole) return;
    this.#isWhole = false;
    this.#stallMs = Math.min(2 * this.#stallMs, MAX_STALL_MS);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    this.#caughtUp.abort();
    for (const over of this.#waiting.keys()) over.abort();
    const { nats, manager, stream } = this.#options;
    if (nats.isClosed()) return;
    this.#subscription?.unsubscribe();
    if (this.#consumer !== undefined) {
      await manager.consumers.delete(stream, this.#consumer).catch(() => {});
    }
  }
}
