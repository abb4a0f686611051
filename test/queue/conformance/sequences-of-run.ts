/** The sequences of the messages of a random run, as far as it has seen them. */
import assert from 'node:assert/strict';
import type { SequenceRange } from '../../../src/queue/queue.ts';
import type { ModelMessage } from './model.ts';

export class Sequences {
  /** The sequence of a replayed message is unknown until it is claimed. */
  readonly #known = new Map<ModelMessage, number>();
  #last = 0;

  /** Checks that the sequences of an enqueue rise. */
  accept(messages: readonly ModelMessage[], sequences: readonly number[]): void {
    assert.equal(sequences.length, messages.length);
    for (const [index, sequence] of sequences.entries()) {
      assert.ok(sequence > this.#last, `${sequence} is not above ${this.#last}`);
      this.#last = sequence;
      this.#known.set(messages[index] as ModelMessage, sequence);
    }
  }

  check(message: ModelMessage, sequence: number): void {
    const known = this.#known.get(message) ?? sequence;
    assert.equal(sequence, known);
    this.#known.set(message, sequence);
    this.#last = Math.max(this.#last, sequence);
  }

  /** Returns ranges, the second time with a gap, and how many of the pending messages are in them. */
  rangesOf(
    pending: readonly ModelMessage[],
  ): { readonly ranges: readonly SequenceRange[]; readonly count: number }[] {
    const all = { ranges: [{ from: 1, to: Number.MAX_SAFE_INTEGER }], count: pending.length };
    const sequences = pending.map((message) => this.#known.get(message) ?? Number.NaN);
    if (sequences.length === 0 || sequences.some(Number.isNaN)) return [all];
    const sorted = sequences.toSorted((one, other) => one - other);
    const [first = 0, middle = 0, last = 0] = [
      sorted[0],
      sorted[sorted.length >> 1],
      sorted.at(-1),
    ];
    const ranges = [
      // So wide that SQLite counts it in another way.
      { from: -10_000, to: first },
      { from: middle + 1, to: last + 1 },
    ];
    const count = sorted.filter((sequence) => sequence === first || sequence > middle).length;
    return [all, { ranges, count }];
  }
}
