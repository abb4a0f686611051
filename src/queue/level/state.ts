/** What a queue in a folder stands on: the store, what is in memory of it, and its time. */
import { SecurityEventError } from '../../errors.ts';
import { type GiveWay, givingWay } from '../../system/giving-way.ts';
import { SLICE_MESSAGES } from '../in-process/batch.ts';
import { type Moment, momentOf, type QueueClock } from '../in-process/moment.ts';
import type { Defaults, LevelApplication, LiveClaim } from './application.ts';
import { Change } from './change.ts';
import { LevelContent, NEW_STORE } from './content.ts';
import { tellDamage } from './damage.ts';
import type { IncidentLimits } from './incident-rows.ts';
import type { LevelSettings } from './level-options.ts';
import { type Loaded, load } from './loading.ts';
import type { ApplicationRow } from './old-contract.ts';
import { placeAll, readMeta } from './recovery.ts';
import { Store, type StoreOptions, type WriteName } from './store.ts';

export interface LevelParts extends Pick<StoreOptions, 'load' | 'onWrite'> {
  /** Others than those of every queue, for tests. */
  readonly incidentLimits?: IncidentLimits;
}

/** Of an opening: where reading finds that files are damaged, they are put together, and read again. */
const READINGS = 3;

export class LevelState {
  readonly store: Store;
  readonly #options: LevelSettings;
  readonly #clock: QueueClock;
  readonly #listeners = new Set<() => void>();
  readonly #defaults: Defaults;
  readonly #giveWay: GiveWay;
  #content: LevelContent;
  /** Added to the clock's, so that the queue's time goes on from where it was when the store was closed. */
  #offsetMs = 0;
  #opening: Promise<void> | undefined;
  /** Claims that were out when a write failed, until the folder is open again. */
  #live: Map<string, LiveClaim> | undefined;
  /** The folder has not been opened by this process yet. */
  #isFirst = true;
  /** Read, and not written yet: where the disk is full, it is not read again for each call. */
  #loaded: Loaded | undefined;

  constructor(options: LevelSettings, clock: QueueClock, parts: LevelParts) {
    this.#options = options;
    this.#clock = clock;
    this.#giveWay = givingWay(clock);
    this.store = new Store({ ...options, ...parts, giveWay: this.#giveWay });
    // Replaced by the first `open`, before anything is done with it.
    const row: ApplicationRow = { tier: 'healthy', maxMessages: 1, maxBytes: 1, lane: null };
    this.#defaults = { row, lingerMs: 0 };
    this.#content = this.#emptyContent();
  }

  #emptyContent(): LevelContent {
    return new LevelContent(NEW_STORE, { bounds: this.#options, defaults: this.#defaults });
  }

  get content(): LevelContent {
    return this.#content;
  }

  setDefaults(row: ApplicationRow, lingerMs: number): void {
    this.#defaults.row = row;
    this.#defaults.lingerMs = lingerMs;
    // What was asked of incidents may have opened the folder before.
    for (const application of this.#content.all()) this.#content.place(application, this.now());
  }

  now(): Moment {
    const { now, monotonicMs } = this.#clock;
    return momentOf({ now, monotonicMs: () => monotonicMs() + this.#offsetMs });
  }

  /**
   * What every call begins with: the store is open, and no lease that is over counts. `work` begins
   * at once then, before a write of another call can fail.
   */
  async begin<T>(work: (at: Moment) => Promise<T>): Promise<T> {
    for (;;) {
      if (this.#opening !== undefined || !this.#isSound) await this.open();
      else {
        const at = this.now();
        const endings = this.#wake(at);
        if (endings.length === 0) return await this.#noticing(work(at));
        await Promise.all(endings);
      }
    }
  }

  /** Who waits for what is due is to ask again where damage was found: the next call makes up for it. */
  async #noticing<T>(work: Promise<T>): Promise<T> {
    const done = await work;
    if (this.store.folder.signs.size > 0) this.tellListeners();
    return done;
  }

  get #isSound(): boolean {
    return this.store.isUsable && this.store.folder.signs.size === 0;
  }

  /** Opens the folder, anew after a failed write: nothing counts but what is in it. */
  async open(): Promise<void> {
    this.#opening ??= this.#load().finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
  }

  async #load(): Promise<void> {
    if (!this.#isFirst) this.#live ??= this.#liveClaims();
    for (let reading = 1; ; reading += 1) {
      try {
        await this.#loadOnce();
        break;
      } catch (error) {
        await this.store.close().catch(() => {});
        if (reading === READINGS || !this.store.folder.areFilesDamaged) throw error;
      }
    }
    this.#isFirst = false;
    this.#live = undefined;
    this.#loaded = undefined;
    this.tellListeners();
  }

  async #loadOnce(): Promise<void> {
    const { folder } = this.store;
    // What is under way stands on what is no more: it may write nothing.
    this.#content = this.#emptyContent();
    await this.store.close();
    await this.store.open(() => this.#content.rows(this.now().nowMs));
    if (this.#loaded?.suspicions !== folder.suspicions) this.#loaded = undefined;
    this.#loaded ??= await this.#read();
    const { content, operations, finding } = this.#loaded;
    this.#content = content;
    await this.store.write('open', operations);
    placeAll(content, this.now());
    if (finding === undefined) return;
    const { folder: path, onDamage } = this.#options;
    const { signs, unreadable } = folder;
    tellDamage({ folder: path, signs: [...signs], unreadable, ...finding }, onDamage);
    await folder.endMending();
  }

  async #read(): Promise<Loaded> {
    const meta = await readMeta(this.store, this.#options.folder);
    // Neither back behind what was written, nor behind the clock on the wall.
    if (this.#isFirst) {
      this.#offsetMs = Math.max(meta.nowMs, this.#clock.now()) - this.#clock.monotonicMs();
    }
    return await load(this.store, meta, {
      bounds: this.#options,
      defaults: this.#defaults,
      live: this.#live,
      now: () => this.now(),
    });
  }

  #liveClaims(): Map<string, LiveClaim> {
    const live = new Map<string, LiveClaim>();
    for (const { claim } of this.#content.all()) {
      if (claim?.isHandedOut === true) live.set(claim.id, claim);
    }
    return live;
  }

  /** Both in the store and in memory, or the store is opened anew. */
  async write(name: WriteName, change: Change): Promise<void> {
    this.mustBeCurrent(change);
    await this.store.write(name, change.operations, change.make);
  }

  /** Throws where it was made from what was in memory before a write failed. */
  mustBeCurrent({ content }: Change): void {
    // While the folder is being opened there is nothing yet from which a change could be made.
    if (content === this.#content && this.#opening === undefined) return;
    throw new SecurityEventError('ERR_QUEUE_FAILED');
  }

  /** A change to what is in memory: where half of it was made, nothing counts but what is in the folder. */
  inOneGo(change: () => void): void {
    try {
      change();
    } catch (error) {
      this.store.distrust();
      if (error instanceof SecurityEventError) throw error;
      throw new SecurityEventError('ERR_QUEUE_FAILED', { cause: error });
    }
  }

  /** What has to be done for each, in parts that give way: nothing of it counts in memory yet. */
  async inParts<T>(items: readonly T[], work: (item: T, index: number) => void): Promise<void> {
    for (let start = 0; start < items.length; start += SLICE_MESSAGES) {
      if (start > 0) await this.#giveWay();
      this.inOneGo(() => {
        const end = Math.min(items.length, start + SLICE_MESSAGES);
        for (let index = start; index < end; index += 1) work(items[index] as T, index);
      });
    }
  }

  /** All that was made counts from now on, with what `also` does; it is to be written at once. */
  apply(change: Change, also: () => void): void {
    this.mustBeCurrent(change);
    this.inOneGo(() => {
      also();
      change.apply();
    });
  }

  /** Likewise; what the store has of these applications may be claimed from then on. */
  async writeArrivals(
    name: WriteName,
    change: Change,
    applications: ReadonlySet<LevelApplication>,
  ): Promise<void> {
    const tails = Array.from(applications, (one) => [one, one.tail] as const);
    await this.write(name, change);
    const at = this.now();
    for (const [application, tail] of tails) {
      application.arrived(tail, at.nowMs);
      this.#content.place(application, at);
    }
    this.tellListeners();
  }

  /** Ends the leases that are over, and gives those a turn whose time has come. */
  #wake(at: Moment): Promise<void>[] {
    const content = this.#content;
    const endings: Promise<void>[] = [];
    for (;;) {
      const application = content.turns.woken(at.nowMs);
      if (application === undefined) break;
      const { claim } = application;
      if (claim !== undefined) {
        claim.isEnding = true;
        endings.push(this.#endLease(application, claim));
      }
      content.place(application, at);
    }
    return endings;
  }

  /** Its messages are due again, and were sent for all that is known (law 3). */
  async #endLease(application: LevelApplication, claim: LiveClaim): Promise<void> {
    await application.exclusively(async () => {
      if (application.claim !== claim) return;
      const change = new Change(this.#content, this.now());
      await this.inParts(claim.messages, (message) =>
        change.waitAgain(application, message, { ...message, sends: message.sends + 1 }),
      );
      this.apply(change, () => change.endClaim(application));
      await this.write('lease-over', change);
      this.claimOver(application);
    });
  }

  claimOver(application: LevelApplication): void {
    application.claim = undefined;
    this.content.place(application, this.now());
    this.tellListeners();
  }

  onDue(listener: () => void): () => void {
    const call = (): void => listener();
    this.#listeners.add(call);
    return () => void this.#listeners.delete(call);
  }

  tellListeners(): void {
    for (const listener of this.#listeners) listener();
  }

  silence(): void {
    this.#listeners.clear();
  }
}
