import { SecurityEventError } from '../../errors.ts';
import type { Moment } from '../in-process/moment.ts';
import type { DeadReason, Json, Moved, QueueEntry, Verdict } from '../queue.ts';
import {
  earlier,
  type LevelApplication,
  type LiveClaim,
  type TakenMessage,
} from './application.ts';
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
import { contentKey } from './reading.ts';
import type { Operation } from './store.ts';
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

/** One write in the making: what is done to the store, and the same in memory. */
export class Change {
  readonly operations: Operation[] = [];
  readonly content: LevelContent;
  readonly #at: Moment;

  constructor(content: LevelContent, at: Moment) {
    this.content = content;
    this.#at = at;
  }

  put(key: Buffer, value: Buffer): void {
    this.operations.push({ type: 'put', key, value });
  }

  del(key: Buffer): void {
    this.operations.push({ type: 'del', key });
  }

  /** Room was taken for it; `value` is its encoded content. */
  accept(application: LevelApplication, entry: QueueEntry, value: Buffer): void {
    const sequence = application.tail;
    const { sizeBytes, past } = entry;
    application.tail += 1;
    application.counts.accepted += 1;
    application.pendingBytes += sizeBytes;
    this.content.changed(application);
    if (past === undefined) {
      setAccepted(value, this.#at.nowMs);
      application.freshCount += 1;
      this.put(freshKey(application.number, sequence), value);
    } else {
      this.#bring(application, entry, sequence);
    }
  }

  /** What comes from another queue has an age, a wait or even an end. */
  #bring(application: LevelApplication, entry: QueueEntry, sequence: number): void {
    const { stored, origin, sizeBytes, past } = entry;
    if (past === undefined) return;
    const { nowMs } = this.#at;
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
      this.bury(application, message, past.death);
      return;
    }
    this.put(broughtKey(application.number, sequence), encodeContent(content));
    this.#putAgain(application, message, message);
    application.comesIn(storable(message.dueMs), storable(content.acceptedMs));
  }

  /** Of a message whose claim ends. */
  settle(application: LevelApplication, message: TakenMessage, verdict: Verdict | Moved): void {
    const sends = message.sends + 1;
    switch (verdict.kind) {
      case 'delivered':
        this.#remove(application, message);
        application.counts.delivered += 1;
        break;
      case 'moved':
        this.#remove(application, message);
        application.discard('moved');
        break;
      case 'dead':
        this.bury(application, { ...message, sends }, verdict);
        break;
      case 'again': {
        const { afterMs, maxMessages, progress } = verdict;
        const dueMs = afterMs > 0 ? this.#at.after(afterMs) : message.dueMs;
        this.waitAgain(application, message, { dueMs, sends, maxMessages, progress });
      }
    }
  }

  /** Of one that is counted nowhere: it is claimed, or was taken out. */
  waitAgain(application: LevelApplication, message: TakenMessage, next: NextWait): void {
    this.content.changed(application);
    const dueMs = this.#putAgain(application, message, next);
    this.isAgain(application, { dueMs, acceptedMs: message.content.acceptedMs });
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

  /** It waits again, as its rows say. */
  isAgain(
    application: LevelApplication,
    { dueMs, acceptedMs }: { readonly dueMs: number; readonly acceptedMs: number },
  ): void {
    this.content.changed(application);
    application.againCount += 1;
    application.againDueMs = earlier(application.againDueMs, dueMs);
    application.againOldestMs = earlier(application.againOldestMs, storable(acceptedMs));
  }

  /** A dead letter, where it waited or was claimed until now. */
  bury(application: LevelApplication, message: TakenMessage, ending: Ending): void {
    const { content, sends } = message;
    const { nowMs, epochMs } = this.#at;
    const { reason, end, diedAt = epochMs } = ending;
    this.#remove(application, message);
    const id = this.content.nextDeath();
    // Told from its age: the wall clock may have been set since.
    const acceptedAt = diedAt - (nowMs - content.acceptedMs);
    const death = { sends, reason, end, acceptedAt, diedAt };
    this.put(deadKey(id), encodeDead(death, content));
    this.put(deadOfKey(application.number, id), Buffer.alloc(0));
    application.counts.dead += 1;
    application.deadBytes += content.sizeBytes;
    this.content.deadBytes += content.sizeBytes;
  }

  #remove(application: LevelApplication, message: TakenMessage): void {
    // First: of an application that is no more, nothing is to be given back to the room of now.
    this.content.changed(application);
    const { number } = application;
    const { sequence, dueMs, isAgain, isBrought, content } = message;
    if (isAgain) {
      this.del(againKey(number, dueMs, sequence));
      this.del(ageKey(number, storable(content.acceptedMs), sequence));
    }
    this.del(contentKey(number, sequence, isBrought));
    application.pendingBytes -= content.sizeBytes;
    this.content.room.give(content.sizeBytes);
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
    const origin = { senderId: '', number: 0 };
    const value = encodeContent({ ...content, origin, acceptedMs: this.#at.nowMs, sends });
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
    for (const message of messages) {
      if (message.isAgain) {
        const { dueMs, content } = message;
        this.isAgain(application, { dueMs, acceptedMs: content.acceptedMs });
      } else if (isHeadOurs) this.#isFresh(application, message.dueMs);
      else this.waitAgain(application, message, message);
    }
  }

  #isFresh(application: LevelApplication, dueMs: number): void {
    application.freshCount += 1;
    application.freshDueMs = earlier(application.freshDueMs, dueMs);
  }
}

/** One verdict a message. */
export function checkCount(verdicts: readonly unknown[], messages: readonly unknown[]): void {
  if (verdicts.length === messages.length) return;
  const detail = `${verdicts.length} verdicts for ${messages.length} messages`;
  throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
}
