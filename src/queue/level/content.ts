/** What the store holds, as far as it is kept in memory: applications, not messages. */
import { SecurityEventError } from '../../errors.ts';
import type { Moment } from '../in-process/moment.ts';
import { Room, type RoomBounds } from '../in-process/room.ts';
import { Turns } from '../in-process/turns.ts';
import {
  type Defaults,
  LevelApplication,
  type LiveClaim,
  newApplication,
  type StoredApplication,
} from './application.ts';
import { applicationKey, applicationOf, metaKey } from './keys.ts';
import type { Entry, Operation } from './store.ts';
import { decodeJson, encodeJson } from './values.ts';

/** The one row that is about the whole store. */
export interface Meta {
  /** Of the rows and values; a store of another form is not opened. */
  readonly form: number;
  /** How often the store was opened: claims of another time have other names. */
  readonly runs: number;
  /** The queue's time when this was written. */
  readonly nowMs: number;
  /** Of what has a number the last one given. */
  readonly lastDeath: number;
  readonly lastApplication: number;
  readonly lastSequence: number;
}

export const NEW_STORE: Meta = {
  form: 2,
  runs: 0,
  nowMs: 0,
  lastDeath: 0,
  lastApplication: 0,
  lastSequence: 0,
};

export interface LoadOptions {
  readonly bounds: RoomBounds;
  readonly defaults: Defaults;
}

export class LevelContent {
  readonly room: Room;
  readonly turns = new Turns<LevelApplication>();
  readonly #byId = new Map<string, LevelApplication>();
  readonly #byNumber = new Map<number, LevelApplication>();
  readonly #changed = new Set<LevelApplication>();
  readonly #defaults: Defaults;
  readonly #runs: number;
  #lastDeath: number;
  #lastApplication: number;
  #lastClaim = 0;
  lastSequence: number;
  deadBytes = 0;

  constructor(meta: Meta, { bounds, defaults }: LoadOptions) {
    this.room = new Room(bounds);
    this.#defaults = defaults;
    this.#runs = meta.runs + 1;
    this.#lastDeath = meta.lastDeath;
    this.#lastApplication = meta.lastApplication;
    this.lastSequence = meta.lastSequence;
  }

  /** An application that is in the store. */
  load([key, value]: Entry): void {
    this.#add(applicationOf(key), decodeJson<StoredApplication>(value));
  }

  find(applicationId: string): LevelApplication | undefined {
    return this.#byId.get(applicationId);
  }

  numbered(number: number): LevelApplication | undefined {
    return this.#byNumber.get(number);
  }

  ensure(applicationId: string): LevelApplication {
    const known = this.#byId.get(applicationId);
    if (known !== undefined) return known;
    this.#lastApplication += 1;
    return this.#add(this.#lastApplication, newApplication(applicationId));
  }

  #add(number: number, stored: StoredApplication): LevelApplication {
    const application = new LevelApplication(number, stored, this.#defaults);
    this.#byId.set(application.id, application);
    this.#byNumber.set(number, application);
    this.deadBytes += application.deadBytes;
    return application;
  }

  all(): MapIterator<LevelApplication> {
    return this.#byId.values();
  }

  has(application: LevelApplication): boolean {
    return this.#byNumber.get(application.number) === application;
  }

  /** To be called after each change of what a turn depends on. */
  place(application: LevelApplication, { nowMs }: Moment): void {
    // One of before the folder was opened anew has no turn any more: what it knows is not so.
    if (!this.has(application)) return;
    this.turns.place(application, nowMs);
  }

  /** Its row goes with the next write. */
  changed(application: LevelApplication): void {
    // What was begun before the folder was opened anew must not write what it saw then.
    if (!this.has(application)) {
      throw new SecurityEventError('ERR_QUEUE_FAILED');
    }
    this.#changed.add(application);
  }

  /** The claim as it is kept, while it can still be used. */
  held(claimId: string, applicationId: string): LiveClaim | undefined {
    const claim = this.find(applicationId)?.claim;
    return claim?.id === claimId && !claim.isEnding ? claim : undefined;
  }

  nextClaim(): string {
    this.#lastClaim += 1;
    return `${this.#runs}-${this.#lastClaim}`;
  }

  /** The number of the last dead letter. */
  get lastDeath(): number {
    return this.#lastDeath;
  }

  /** The first of so many numbers. */
  nextDeath(count = 1): number {
    this.#lastDeath += count;
    return this.#lastDeath - count + 1;
  }

  /** The rows of what has changed since the last write, and that of the store. */
  rows(nowMs: number): Operation[] {
    const rows = Array.from(this.#changed, (application): Operation => {
      const key = applicationKey(application.number);
      return { type: 'put', key, value: encodeJson(application.stored()) };
    });
    this.#changed.clear();
    const meta: Meta = {
      form: NEW_STORE.form,
      runs: this.#runs,
      nowMs,
      lastDeath: this.#lastDeath,
      lastApplication: this.#lastApplication,
      lastSequence: this.lastSequence,
    };
    rows.push({ type: 'put', key: metaKey(), value: encodeJson(meta) });
    return rows;
  }
}
