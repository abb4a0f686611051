/** What the worlds have met: each fault beside each outcome, counted over all seeds. */
import type { FaultName } from './faults.ts';
import type { QueueFault, SettingsFault } from './scenario.ts';

/** What may happen to a message beside its receiver's faults. */
export type FaultMet =
  | FaultName
  | SettingsFault
  | QueueFault
  | 'crash-before-body'
  | 'crash-after-body'
  | 'crash-before-post'
  | 'closed-mid-attempt'
  | 'new-url'
  | 'new-secret'
  | 'new-format'
  | 'clock-set'
  | 'queue-full';

export class Coverage {
  readonly #counts = new Map<string, Map<string, number>>();

  hit(fault: string, outcome: string, by = 1): void {
    const row = this.#counts.get(fault) ?? new Map<string, number>();
    this.#counts.set(fault, row);
    row.set(outcome, (row.get(outcome) ?? 0) + by);
  }

  count(fault: string, outcome: string): number {
    return this.#counts.get(fault)?.get(outcome) ?? 0;
  }

  add(other: Coverage): void {
    for (const [fault, row] of other.#counts) {
      for (const [outcome, count] of row) this.hit(fault, outcome, count);
    }
  }

  /** Lines of text: a fault each. */
  table(): string[] {
    return [...this.#counts]
      .toSorted(([one], [other]) => one.localeCompare(other))
      .map(([fault, row]) => {
        const cells = [...row]
          .toSorted(([one], [other]) => one.localeCompare(other))
          .map(([outcome, count]) => `${outcome} ${count}`);
        return `${fault.padEnd(22)} ${cells.join(', ')}`;
      });
  }
}
