import type { Moment } from '../in-process/moment.ts';
import type { LevelApplication, LiveClaim, TakenMessage } from './application.ts';
import type { LevelContent } from './content.ts';
import {
  againKey,
  ageKey,
  broughtKey,
  claimKey,
  deadKey,
  deadOfKey,
  freshKey,
  storable,
} from './keys.ts';
import type { DeadReason, Json, Moved, QueueEntry, Verdict } from './old-contract.ts';
import { contentKey } from './reading.ts';
import type { Place } from './share.ts';
import type { Operation } from './store.ts';
import { Tally } from './tally.ts';
import {
  type Content,
  encodeAgain,
  encodeContent,
  encodeDead,
  encodeJson,
  encodeTime,
  setAccepted,
} from './values.ts';

/** How a message waits from now on. */
export interface NextWait {
  readonly dueMs: number;
  readonly sends: number;
  readonly maxMessages: number | undefined;
  readonly progress: Json | null;
}

export interface Ending {
  readonly reason: DeadReason;
  readonly end: Json;
  /** Milliseconds since the epoch; absent: now. */
  readonly diedAt?: number;
}

/** Which messages a claim has: with it the store knows what counts as sent after a crash. */
export interface StoredClaim {
  readonly id: string;
  /** Of those that had not been claimed before: from this sequence, before that one, and how many. */
  readonly from: number;
  readonly to: number;
  readonly freshCount: number;
  readonly freshDueMs?: number;
  /** Of those that waited again: when each was due, and its sequence. */
  readonly again: readonly (readonly [number, number])[];
}

const NOTHING = Buffer.alloc(0);

/**
 * One write in the making: what is done to the store, in as many parts as it takes, and what that adds
 * up to in memory, where it counts from `apply` on.
 */
export class Change {
  readonly operations: Operation[] = [];
  readonly content: LevelContent;
  readonly at: Moment;
  /** Makes what takes long, once its place among the writes is sure. */
  make: (() => Promise<void>) | undefined;
  readonly #tallies = new Map<LevelApplication, Tally>();

  constructor(content: LevelContent, at: Moment) {
    this.content = content;
    this.at = at;
  }

  put(key: Buffer, value: Buffer): void {
    this.operations.push({ type: 'put', key, value });
  }

  del(key: Buffer): void {
    this.operations.push({ type: 'del', key });
  }

  #of(application: LevelApplication): Tally {
    let tally = this.#tallies.get(application);
    if (tally === undefined) {
      tally = new Tally();
      this.#tallies.set(application, tally);
    }
    return tally;
  }

  /** In memory it is done now: what was done to the store has to be written. */
  apply(): void {
    const { content } = this;
    for (const [application, tally] of this.#tallies) {
      // First: of an application that is no more, nothing is to be given back to the room of now.
      content.changed(application);
      application.add(tally);
      content.deadBytes += tally.deadBytes;
      content.room.give(-tally.pendingBytes, tally.left);
    }
    this.#tallies.clear();
  }

  /** One of a share that was admitted; `value` is its encoded content. */
  accept(place: Place, entry: QueueEntry, value: Buffer): void {
    const { sequence, application } = place;
    place.sequence += 1;
    if (entry.past === undefined) {
      setAccepted(value, this.at.nowMs);
      this.put(freshKey(application.number, sequence), value);
    } else this.#bring(place, entry, sequence);
  }

  /** What comes from another queue has an age, a wait or even an end. */
  #bring(place: Place, entry: QueueEntry, sequence: number): void {
    const { stored, origin, sizeBytes, past } = entry;
    if (past === undefined) return;
    const { application } = place;
    const { nowMs } = this.at;
    const content: Content = {
      applicationId: entry.applicationId,
      stored,
      origin,
      sizeBytes,
      acceptedMs: nowMs - past.ageMs,
      sends: past.sends,
    };
    const message: TakenMessage = {
      content,
      sequence,
      dueMs: nowMs + past.dueInMs,
      sends: past.sends,
      maxMessages: past.maxMessages,
      progress: past.progress,
      isAgain: false,
      isBrought: true,
    };
    if (past.death !== undefined) {
      this.#putDead(application, message, { id: place.death, ...past.death });
      place.death += 1;
      return;
    }
    this.put(broughtKey(application.number, sequence), encodeContent(content));
    this.#putAgain(application, message, message);
  }

  /** Of a message whose claim ends. */
  settle(application: LevelApplication, message: TakenMessage, verdict: Verdict | Moved): void {
    const sends = message.sends + 1;
    switch (verdict.kind) {
      case 'delivered':
        this.#remove(application, message);
        this.#of(application).delivered += 1;
        break;
      case 'moved':
        this.#remove(application, message);
        this.#of(application).discard('moved');
        break;
      case 'dead':
        this.bury(application, { ...message, sends }, verdict);
        break;
      case 'again': {
        const { afterMs, maxMessages, progress } = verdict;
        const dueMs = afterMs > 0 ? this.at.after(afterMs) : message.dueMs;
        this.waitAgain(application, message, { dueMs, sends, maxMessages, progress });
      }
    }
  }

  /** Of one that is counted nowhere: it is claimed, or was taken out. */
  waitAgain(application: LevelApplication, message: TakenMessage, next: NextWait): void {
    const dueMs = this.#putAgain(application, message, next);
    this.#of(application).waitsAgain(dueMs, message.content.acceptedMs);
  }

  /** Gives when it is due, as its row says. */
  #putAgain(application: LevelApplication, message: TakenMessage, next: NextWait): number {
    const { number } = application;
    const { sequence, isBrought, content } = message;
    const { acceptedMs, sizeBytes, stored } = content;
    const dueMs = storable(next.dueMs);
    if (message.isAgain && message.dueMs !== dueMs) {
      this.del(againKey(number, message.dueMs, sequence));
    }
    const { sends, maxMessages, progress } = next;
    const again = { acceptedMs, sizeBytes, sends, maxMessages, progress, isBrought };
    this.put(againKey(number, dueMs, sequence), encodeAgain({ ...again, format: stored.format }));
    this.put(ageKey(number, storable(acceptedMs), sequence), encodeTime(dueMs));
    return dueMs;
  }

  /** One that waited is taken out, and goes. */
  takeOut(application: LevelApplication, { isAgain }: TakenMessage): void {
    const tally = this.#of(application);
    if (isAgain) tally.again -= 1;
    else tally.fresh -= 1;
  }

  /** A dead letter, where it waited or was claimed until now. */
  bury(application: LevelApplication, message: TakenMessage, ending: Ending): void {
    this.#remove(application, message);
    this.#of(application).dies(message.content.sizeBytes);
    this.#putDead(application, message, { id: this.content.nextDeath(), ...ending });
  }

  #putDead(
    application: LevelApplication,
    { content, sends }: TakenMessage,
    { id, reason, end, diedAt = this.at.epochMs }: Ending & { readonly id: number },
  ): void {
    const { nowMs } = this.at;
    // Told from its age: the wall clock may have been set since.
    const acceptedAt = diedAt - (nowMs - content.acceptedMs);
    const death = { sends, reason, end, acceptedAt, diedAt };
    this.put(deadKey(id), encodeDead(death, content));
    this.put(deadOfKey(application.number, id), NOTHING);
  }

  #remove(application: LevelApplication, message: TakenMessage): void {
    const { number } = application;
    const { sequence, dueMs, isAgain, isBrought, content } = message;
    if (isAgain) {
      this.del(againKey(number, dueMs, sequence));
      this.del(ageKey(number, storable(content.acceptedMs), sequence));
    }
    this.del(contentKey(number, sequence, isBrought));
    this.#of(application).leave(content.sizeBytes);
  }

  /** A dead letter leaves: it waits again, or is gone. */
  unbury(application: LevelApplication, id: number, sizeBytes: number): void {
    this.del(deadKey(id));
    this.del(deadOfKey(application.number, id));
    application.counts.dead -= 1;
    application.deadBytes -= sizeBytes;
    this.content.deadBytes -= sizeBytes;
    this.content.changed(application);
  }

  /** As if it came in only now, but for its `sends` (D24); its sender has been told of its end. */
  revive(application: LevelApplication, content: Content, sends: number): void {
    // Its sequence, as a queue of the new contract has it.
    this.content.lastSequence += 1;
    const origin = { senderId: '', number: this.content.lastSequence };
    const value = encodeContent({ ...content, origin, acceptedMs: this.at.nowMs, sends });
    this.put(freshKey(application.number, application.tail), value);
    application.tail += 1;
    application.freshCount += 1;
    application.pendingBytes += content.sizeBytes;
    this.content.changed(application);
  }

  beginClaim(application: LevelApplication, claim: LiveClaim): void {
    this.content.changed(application);
    const { id, messages, fresh } = claim;
    const untouched = messages.filter(({ isAgain }) => !isAgain);
    const again = messages.filter(({ isAgain }) => isAgain);
    const [first] = untouched;
    const row: StoredClaim = {
      id,
      ...fresh,
      freshCount: untouched.length,
      ...(first === undefined ? {} : { freshDueMs: first.dueMs }),
      again: again.map(({ dueMs, sequence }) => [dueMs, sequence]),
    };
    this.put(claimKey(application.number), encodeJson(row));
    application.freshCount -= untouched.length;
    application.againCount -= again.length;
    claim.isCounted = true;
  }

  /** What became of its messages is counted by now. */
  endClaim(application: LevelApplication): void {
    this.content.changed(application);
    this.del(claimKey(application.number));
    if (application.claim !== undefined) application.claim.isCounted = false;
  }

  /** The messages of a claim are as they were before it. */
  putBack(application: LevelApplication, { messages, fresh }: LiveClaim): void {
    const isHeadOurs = application.head === fresh.to;
    if (isHeadOurs) application.head = fresh.from;
    const tally = this.#of(application);
    for (const message of messages) {
      const { dueMs, content } = message;
      if (message.isAgain) tally.waitsAgain(dueMs, content.acceptedMs);
      else if (isHeadOurs) tally.isFresh(dueMs);
      else this.waitAgain(application, message, message);
    }
  }
}
