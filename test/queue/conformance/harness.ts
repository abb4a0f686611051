/** What the suite needs of a queue that it judges. */
import type { MessageQueue } from '../../../src/queue/queue.ts';

export interface QueueBounds {
  readonly maxPendingBytes?: number;
  readonly maxPendingMessages?: number;
}

/** A call that stands still in the middle. */
export interface Hold {
  /** Resolves once a call does. */
  reached(): Promise<void>;
  letGo(): Promise<void>;
}

export interface QueueUnderTest {
  /** On fresh storage, and not opened yet. */
  readonly queue: MessageQueue;
  /** Lets at least so much of the queue's time pass, and less than a unit more. */
  advance(ms: number): Promise<void>;
  /** Of a durable queue: a new handle on the same storage, not opened yet; the old one is done with. */
  reopen?(how: 'closed' | 'crashed'): Promise<MessageQueue>;
  /** Of a distributed queue: another handle beside the first, not opened yet. */
  join?(): Promise<MessageQueue>;
  /**
   * Where the capability `holdsCalls` says so: the next `enqueue` of the first handle that brings messages for this
   * application stands still before all of these are stored. Some of them may be, and others of the call.
   */
  hold?(applicationId: string): Promise<Hold>;
  dispose(): Promise<void>;
}

export interface QueueHarness {
  create(bounds?: QueueBounds): Promise<QueueUnderTest>;
  readonly capabilities: {
    readonly durable: boolean;
    readonly distributed: boolean;
    /** Absent: a call is one step, within which nothing can be held. */
    readonly holdsCalls?: true;
  };
  /** The suite counts time in units: a real clock wants small ones. */
  readonly unitMs: number;
  /**
   * How far the times that the queue tells may be off: 0 with a clock that the test moves; with one
   * that runs by itself as long as all calls of a case take (some 200 in the random run), and a unit
   * more than twice as long. The memory queue passes so on the real clock, with 25 and 60 ms.
   */
  readonly toleranceMs: number;
  /** How many messages a destination that never answers has waiting. */
  readonly blackHoleMessages: number;
  /** Of the random run. */
  readonly randomRuns: number;
}
