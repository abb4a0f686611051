import { SecurityEventError } from '../../errors.ts';
import { systemClock } from '../../system/clock.ts';
import { newId } from '../../system/id.ts';
import { untraced } from '../../system/untraced.ts';
import type {
  ApplicationRow,
  Claim,
  ClaimRequest,
  DeadLetterFilter,
  DeadLetterPage,
  Durability,
  Enqueued,
  ExpiredMessage,
  MessageQueue,
  Moved,
  Nothing,
  QueueClosing,
  QueueEntry,
  QueueStats,
  RowUpdate,
  Verdict,
} from '../queue.ts';
import { Bell } from './bell.ts';
import { JetStreamIncidents } from './incidents.ts';
import { failure } from './jetstream-failure.ts';
import {
  type JetStreamQueueOptions,
  type ReadOptions,
  readQueueOptions,
} from './jetstream-options.ts';
import { loadNats } from './load-nats.ts';
import { type Opened, opened } from './opened.ts';
import type { Row } from './row.ts';
import { reopened } from './row-ends.ts';
import { extend, release, settle } from './row-settle.ts';
import type { Beginning, Surroundings } from './session.ts';

const OURS: Surroundings = { clock: systemClock, newId, load: loadNats };

export class JetStreamQueue implements MessageQueue {
  /** In a bucket beside the streams; usable before `open`, until `close`. */
  readonly incidents = new JetStreamIncidents((work) =>
    this.#while(({ session }) => work(session)),
  );
  readonly #options: ReadOptions;
  readonly #surroundings: Surroundings;
  readonly #bell = new Bell();
  #durability: Durability = 'memory';
  #beginning: Beginning | undefined;
  #opening: Promise<Opened> | undefined;
  #closing: Promise<QueueClosing> | undefined;
  /** Calls that are not over. */
  readonly #running = new Set<Promise<unknown>>();
  /** What this handle claimed and did not settle. */
  readonly #claims = new Map<string, { readonly claim: Claim; readonly endsMs: number }>();

  constructor(options: JetStreamQueueOptions, surroundings: Partial<Surroundings> = {}) {
    this.#options = readQueueOptions(options);
    this.#surroundings = { ...OURS, ...surroundings };
  }

  /** As the streams were when it was opened; before, the least that they can be. */
  get durability(): Durability {
    return this.#durability;
  }

  async open(row: ApplicationRow, lingerMs = 0): Promise<void> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    const { work } = await this.#connected();
    this.#beginning = { row, lingerMs };
    for (const view of work.views) work.place(view);
    this.#attend();
  }

  async #connected(): Promise<Opened> {
    this.#opening ??= untraced(() => this.#connect());
    try {
      return await this.#opening;
    } catch (error) {
      // The next call tries again.
      this.#opening = undefined;
      throw failure(error);
    }
  }

  async #connect(): Promise<Opened> {
    const session = await opened(this.#options, {
      ...this.#surroundings,
      beginning: () => this.#beginning as Beginning,
      ring: () => this.#bell.ring(),
    });
    this.#durability = session.durability;
    return session;
  }

  async enqueue(entries: readonly QueueEntry[]): Promise<Enqueued> {
    return await this.#run(async ({ intake, letters }) => {
      const dead = entries.filter(({ past }) => past?.death !== undefined);
      const enqueued = await intake.enqueue(entries.filter((entry) => !dead.includes(entry)));
      if (dead.length > 0) await letters.bring(dead);
      if (entries.length > 0) this.#bell.ring();
      return enqueued;
    });
  }

  async claim(request: ClaimRequest): Promise<Claim | Nothing> {
    return await this.#run(async ({ claiming }) => {
      const claim = await claiming.claim(request);
      if ('messages' in claim) this.#hold(claim, request.leaseMs);
      return claim;
    });
  }

  /** Those whose lease is over are nobody's any more: their ends may never have got through. */
  #hold(claim: Claim, leaseMs: number): void {
    const nowMs = this.#surroundings.clock.monotonicMs();
    for (const [id, { endsMs }] of this.#claims) if (endsMs < nowMs) this.#claims.delete(id);
    this.#claims.set(claim.id, { claim, endsMs: nowMs + leaseMs });
  }

  async settle(
    claim: Claim,
    verdicts: readonly (Verdict | Moved)[],
    update: RowUpdate,
  ): Promise<'settled' | 'lost'> {
    const change = (row: Row, nowMs: number) => settle(row, claim.id, { verdicts, update, nowMs });
    return (await this.#end(claim, change)) ? 'settled' : 'lost';
  }

  async release(claim: Claim, update?: RowUpdate): Promise<'released' | 'lost'> {
    const change = (row: Row, nowMs: number) =>
      release(row, claim.id, { ...(update && { update }), nowMs });
    return (await this.#end(claim, change)) ? 'released' : 'lost';
  }

  async #end(claim: Claim, change: (row: Row, nowMs: number) => Row | undefined): Promise<boolean> {
    const isEnded = await this.#run((session) => this.#written(session, claim, change));
    this.#claims.delete(claim.id);
    this.#bell.ring();
    return isEnded;
  }

  async #written(
    { rows, work, followUps, session }: Opened,
    { applicationId }: Claim,
    change: (row: Row, nowMs: number) => Row | undefined,
  ): Promise<boolean> {
    const view = work.viewOf(applicationId);
    const row = await rows.change(view, (now) => change(now, session.time.now()));
    if (row === undefined) return false;
    // It is written: whoever comes next does what is left to do, where this fails.
    await followUps.run(view).catch(() => {});
    return true;
  }

  async extend(claim: Claim, leaseMs: number): Promise<'extended' | 'lost'> {
    const change = (row: Row, nowMs: number) => extend(row, claim.id, { leaseMs, nowMs });
    const isExtended = await this.#run((session) => this.#written(session, claim, change));
    if (isExtended) this.#hold(claim, leaseMs);
    return isExtended ? 'extended' : 'lost';
  }

  async expire(olderThanMs: number, maxMessages: number): Promise<readonly ExpiredMessage[]> {
    return await this.#run(({ ends }) => ends.expire(olderThanMs, maxMessages));
  }

  async application(applicationId: string): Promise<ApplicationRow | undefined> {
    return await this.#run(async ({ rows, work, session }) => {
      const view = work.viewOf(applicationId);
      await rows.refresh(view);
      if (view.revision > 0) return view.row;
      const { names, store } = session;
      const counts = await store.counts(names.messages, names.messagesOf(view.token));
      return counts.size > 0 ? view.row : undefined;
    });
  }

  async closeApplication(
    applicationId: string,
    maxMessages: number,
  ): Promise<readonly ExpiredMessage[]> {
    return await this.#run(({ ends }) => ends.close(applicationId, maxMessages));
  }

  async reopen(applicationId: string): Promise<void> {
    await this.#run(async ({ rows, work, session }) => {
      const view = work.viewOf(applicationId);
      await rows.refresh(view);
      if (view.revision === 0) return;
      const { row: initial } = session.beginning();
      await rows.change(view, (row) => reopened(row, initial));
      this.#bell.ring();
    });
  }

  async deadLetters(
    page: DeadLetterFilter & { readonly limit: number; readonly after?: string },
  ): Promise<DeadLetterPage> {
    return await this.#run(({ letterLists }) => letterLists.page(page));
  }

  async replay(filter: DeadLetterFilter): Promise<number> {
    return await this.#run(async ({ letterEnds }) => {
      const replayed = await letterEnds.replay(filter);
      if (replayed > 0) this.#bell.ring();
      return replayed;
    });
  }

  async purge(filter: DeadLetterFilter, as: 'purged' | 'moved' = 'purged'): Promise<number> {
    return await this.#run(({ letterEnds }) => letterEnds.purge(filter, as));
  }

  async stats(): Promise<QueueStats> {
    return await this.#run(({ stats }) => stats.read());
  }

  onDue(listener: () => void): () => void {
    const takeOff = this.#bell.onRing(listener);
    this.#attend();
    return takeOff;
  }

  /** A queue that nobody listens to has no feeds. */
  #attend(): void {
    if (!this.#bell.isHeard || this.#beginning === undefined || this.#closing !== undefined) return;
    // Where it fails the next claim tries again.
    this.#run(({ work }) => work.ready()).catch(() => {});
  }

  async close(): Promise<QueueClosing> {
    this.#closing ??= this.#finish();
    return await this.#closing;
  }

  /** What was begun is done first; what is claimed was not sent (law 8). */
  async #finish(): Promise<QueueClosing> {
    this.#bell.stop();
    const session = await this.#opening?.catch(() => undefined);
    if (session === undefined) return { returned: [], left: 0 };
    try {
      await Promise.allSettled(this.#running);
      await this.#releaseAll(session);
      const left = this.#beginning === undefined ? 0 : await session.stats.left();
      return { returned: [], left };
    } catch (error) {
      throw failure(error);
    } finally {
      await session.end();
    }
  }

  /** Each is tried: where the last one fails the others are free all the same. */
  async #releaseAll(session: Opened): Promise<void> {
    const released = [...this.#claims.values()].map(({ claim }) =>
      this.#written(session, claim, (row, nowMs) => release(row, claim.id, { nowMs })),
    );
    const failed = (await Promise.allSettled(released)).find(isRejected);
    if (failed !== undefined) throw failed.reason;
  }

  async #run<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    if (this.#beginning === undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    return await this.#while(work);
  }

  /** `close` waits for what was begun. */
  async #while<T>(work: (opened: Opened) => Promise<T>): Promise<T> {
    if (this.#closing !== undefined) throw new SecurityEventError('ERR_QUEUE_CLOSED');
    const running = untraced(() => this.#connected().then(work));
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      throw failure(error);
    } finally {
      this.#running.delete(running);
    }
  }
}

const isRejected = (result: PromiseSettledResult<unknown>): result is PromiseRejectedResult =>
  result.status === 'rejected';
