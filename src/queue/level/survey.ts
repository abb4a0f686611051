/** Looks through every row of a damaged store: what is there, what belongs to nothing, what is missing. */
import type { LiveClaim, StoredApplication } from './application.ts';
import type { StoredClaim } from './change.ts';
import { IncidentSurvey } from './incident-survey.ts';
import {
  againKey,
  ageKey,
  applicationOf,
  claimKey,
  deadOfKey,
  EVERYTHING,
  lastOf,
  type Range,
  rangeOf,
  storable,
  tableOf,
  timeOf,
} from './keys.ts';
import { contentKey } from './reading.ts';
import type { Operation, Store } from './store.ts';
import {
  type Again,
  type Content,
  decodeAgain,
  decodeContent,
  decodeDead,
  decodeJson,
  decodeTime,
  encodeAgain,
  encodeContent,
  encodeTime,
} from './values.ts';

/** How a message waits again, and which of its rows were found. */
interface Wait {
  readonly dueMs: number;
  readonly acceptedMs: number;
  readonly sends: number;
  readonly isBrought: boolean;
  hasContent: boolean;
  hasAge: boolean;
}

/** An application, as its rows tell. */
export class FoundApplication {
  readonly number: number;
  id: string | undefined;
  stored: StoredApplication | undefined;
  /** A claim that is out in this process. */
  live: LiveClaim | undefined;
  readonly waits = new Map<number, Wait>();
  /** Below it nothing is untouched. */
  head = 1;
  tail = 1;
  freshCount = 0;
  freshDueMs: number | undefined;
  pendingBytes = 0;
  dead = 0;
  deadBytes = 0;
  /** What was claimed by a process that is no more lies between these, where nothing is known of it. */
  claimed = { from: 0, to: 0 };
  /** Of those that are there, but not when they are due. */
  dueAtOnce = 0;

  constructor(number: number) {
    this.number = number;
  }

  holds(sequence: number): boolean {
    return this.live?.messages.some((message) => message.sequence === sequence) === true;
  }
}

/** So many operations are written at once. */
const PART = 500;

export class Survey {
  readonly applications = new Map<number, FoundApplication>();
  lastDeath = 0;
  lastNumber = 0;
  readonly #store: Store;
  readonly #live: ReadonlyMap<string, LiveClaim>;
  /** Those that counted as claimed by a process that is no more. */
  readonly #sent = new Map<number, ReadonlySet<number>>();
  readonly #letters = new Map<number, { readonly number: number; isListed: boolean }>();
  readonly #numbers = new Map<string, number>();
  readonly #incidents = new IncidentSurvey();
  #fixes: Operation[] = [];

  constructor(store: Store, live: ReadonlyMap<string, LiveClaim>) {
    this.#store = store;
    this.#live = live;
  }

  /** Afterwards every row is intact and belongs to something, and everything has its rows. */
  async run(): Promise<void> {
    await this.#look(rangeOf('claim'), (key, value) => this.#claim(key, value));
    // What claims of this process hold is known better here.
    await this.#write();
    await this.#look(rangeOf('again'), (key, value) => this.#again(key, value));
    await this.#look(EVERYTHING, (key, value) => this.#row(key, value));
    this.#complete();
    this.#fixes.push(...this.#incidents.complete());
    await this.#write();
  }

  async #look(range: Range, see: (key: Buffer, value: Buffer) => void): Promise<void> {
    for await (const rows of this.#store.chunks(range)) {
      for (const [key, value] of rows) see(key, value);
      if (this.#fixes.length >= PART) await this.#write();
    }
  }

  #put(key: Buffer, value: Buffer): void {
    this.#fixes.push({ type: 'put', key, value });
  }

  #del(key: Buffer): void {
    this.#fixes.push({ type: 'del', key });
  }

  async #write(): Promise<void> {
    const fixes = this.#fixes;
    this.#fixes = [];
    if (fixes.length > 0) await this.#store.repair(fixes);
  }

  #numbered(number: number): FoundApplication {
    const known = this.applications.get(number);
    if (known !== undefined) return known;
    const found = new FoundApplication(number);
    this.applications.set(number, found);
    this.lastNumber = Math.max(this.lastNumber, number);
    return found;
  }

  #claim(key: Buffer, value: Buffer): void {
    const application = this.#numbered(applicationOf(key));
    const claim = decodeJson<StoredClaim>(value);
    application.head = claim.to;
    application.tail = claim.to;
    application.live = this.#live.get(claim.id);
    if (application.live !== undefined) {
      this.#keep(application.number, application.live);
      return;
    }
    // Its messages were sent for all that is known, as after any crash.
    application.claimed = claim;
    this.#sent.set(application.number, new Set(claim.again.map(([, sequence]) => sequence)));
    this.#del(claimKey(application.number));
  }

  #keep(number: number, { messages }: LiveClaim): void {
    for (const message of messages) {
      const { content, sequence, dueMs, isAgain, isBrought } = message;
      this.#put(contentKey(number, sequence, isBrought), encodeContent(content));
      if (isAgain) this.#putAgain(number, [sequence, dueMs], { ...message, ...factsOf(content) });
    }
  }

  #putAgain(number: number, [sequence, dueMs]: readonly [number, number], again: Again): void {
    this.#put(againKey(number, dueMs, sequence), encodeAgain(again));
  }

  #again(key: Buffer, value: Buffer): void {
    const application = this.#numbered(applicationOf(key));
    const { number, waits } = application;
    const [sequence, dueMs] = [lastOf(key), timeOf(key)];
    const again = decodeAgain(value);
    const wasSent = this.#sent.get(number)?.has(sequence) === true;
    const sends = wasSent ? again.sends + 1 : again.sends;
    const other = waits.get(sequence);
    if (other !== undefined && other.sends > sends) {
      this.#del(key);
      return;
    }
    if (other !== undefined) this.#del(againKey(number, other.dueMs, sequence));
    const { acceptedMs, isBrought } = again;
    waits.set(sequence, {
      dueMs,
      acceptedMs,
      sends,
      isBrought,
      hasContent: false,
      hasAge: false,
    });
    if (wasSent) this.#putAgain(number, [sequence, dueMs], { ...again, sends });
    if (!isBrought) application.head = Math.max(application.head, sequence + 1);
  }

  #row(key: Buffer, value: Buffer): void {
    switch (tableOf(key)) {
      case 'application': {
        const application = this.#numbered(applicationOf(key));
        const stored = decodeJson<StoredApplication>(value);
        application.stored = stored;
        application.head = Math.max(application.head, stored.head);
        application.tail = Math.max(application.tail, stored.tail);
        this.#named(application, stored.id);
        break;
      }
      case 'brought':
        this.#content(key, decodeContent(value), true);
        break;
      case 'fresh':
        this.#content(key, decodeContent(value), false);
        break;
      case 'age':
        this.#age(key, decodeTime(value));
        break;
      case 'dead':
        this.#letter(lastOf(key), decodeDead(value).content);
        break;
      case 'deadOf': {
        const letter = this.#letters.get(lastOf(key));
        if (letter?.number === applicationOf(key)) letter.isListed = true;
        else this.#del(key);
        break;
      }
      default:
        // What waits and what was claimed was seen before.
        this.#fixes.push(...this.#incidents.see(key, value));
    }
  }

  #named(application: FoundApplication, id: string): void {
    application.id = id;
    this.#numbers.set(id, application.number);
  }

  #content(key: Buffer, content: Content, isBrought: boolean): void {
    const application = this.#numbered(applicationOf(key));
    const { number, waits } = application;
    const sequence = lastOf(key);
    if (application.id === undefined) this.#named(application, content.applicationId);
    application.tail = Math.max(application.tail, sequence + 1);
    application.pendingBytes += content.sizeBytes;
    const wait = waits.get(sequence);
    if (wait?.isBrought === isBrought) wait.hasContent = true;
    else if (!isBrought && sequence >= application.head) {
      application.freshCount += 1;
      application.freshDueMs ??= content.acceptedMs;
    } else if (!application.holds(sequence)) {
      // Nobody knows any more when it is due, nor how often it was sent: once more than is known.
      const { from, to } = application.claimed;
      if (isBrought || sequence < from || sequence >= to) application.dueAtOnce += 1;
      const again = { ...factsOf(content), sends: content.sends + 1, isBrought, progress: null };
      const dueMs = storable(content.acceptedMs);
      this.#putAgain(number, [sequence, dueMs], { ...again, maxMessages: undefined });
      waits.set(sequence, { ...again, dueMs, hasContent: true, hasAge: false });
    }
  }

  #age(key: Buffer, dueMs: number): void {
    const wait = this.#numbered(applicationOf(key)).waits.get(lastOf(key));
    const isItsAge = wait?.dueMs === dueMs && storable(wait.acceptedMs) === timeOf(key);
    if (isItsAge && wait.hasContent) wait.hasAge = true;
    else this.#del(key);
  }

  #letter(id: number, { applicationId, sizeBytes }: Content): void {
    const application = this.#numbered(this.#numbers.get(applicationId) ?? this.lastNumber + 1);
    if (application.id === undefined) this.#named(application, applicationId);
    application.dead += 1;
    application.deadBytes += sizeBytes;
    this.lastDeath = Math.max(this.lastDeath, id);
    this.#letters.set(id, { number: application.number, isListed: false });
  }

  /** Waits of nothing go, and what is missing for those that stay is made anew. */
  #complete(): void {
    for (const { number, waits } of this.applications.values()) {
      for (const [sequence, wait] of waits) {
        const { dueMs, acceptedMs, hasContent, hasAge } = wait;
        if (!hasContent) {
          this.#del(againKey(number, dueMs, sequence));
          waits.delete(sequence);
        } else if (!hasAge) {
          this.#put(ageKey(number, storable(acceptedMs), sequence), encodeTime(dueMs));
        }
      }
    }
    for (const [id, { number, isListed }] of this.#letters) {
      if (!isListed) this.#put(deadOfKey(number, id), Buffer.alloc(0));
    }
  }
}

/** What its wait repeats of a message. */
const factsOf = ({ acceptedMs, sizeBytes, stored }: Content) => ({
  acceptedMs,
  sizeBytes,
  format: stored.format,
});
