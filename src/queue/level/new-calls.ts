/** What only the contract of today asks of a queue in a folder. */
import type { Moment } from '../in-process/moment.ts';
import { Change } from './change.ts';
import { againKey, rangeOf } from './keys.ts';
import { readDue } from './reading.ts';
import type { LevelState } from './state.ts';
import type { Store } from './store.ts';
import { decodeContent } from './values.ts';

/** Reads every message: nothing in the folder is sorted by these numbers. */
export async function readPendingNumbers(store: Store): Promise<number[]> {
  const numbers: number[] = [];
  for (const table of ['fresh', 'brought'] as const) {
    for await (const [, value] of store.entries(rangeOf(table))) {
      numbers.push(decodeContent(value).origin.number);
    }
  }
  return numbers;
}

export async function countDue({ content, store }: LevelState, nowMs: number): Promise<number> {
  let count = 0;
  for (const { number, freshCount, claim } of content.all()) {
    count += freshCount + (claim?.messages.length ?? 0);
    const due = { ...rangeOf('again', number), lt: againKey(number, nowMs + 1, 0) };
    for await (const chunk of store.chunks(due)) count += chunk.length;
  }
  return count;
}

/** Those that wait for another attempt were sent before, and are left alone. */
export async function endDelays(
  state: LevelState,
  applicationIds: ReadonlySet<string>,
  at: Moment,
): Promise<void> {
  for (const id of applicationIds) {
    const application = state.content.find(id);
    if (application === undefined) continue;
    await application.exclusively(async () => {
      const { againCount, waiting, row, arrivals } = application;
      if (againCount === 0 || waiting < row.maxMessages) return;
      const limits = { maxMessages: waiting, maxBytes: Number.POSITIVE_INFINITY };
      const found = await readDue(state.store, application, {
        limits,
        untilMs: Number.POSITIVE_INFINITY,
      });
      const isDelayed = ({ isAgain, sends, dueMs }: (typeof found.messages)[number]): boolean =>
        isAgain && sends === 0 && dueMs > at.nowMs;
      const delayed = found.messages.filter(isDelayed);
      if (delayed.length === 0) return;
      const change = new Change(state.content, at);
      await state.inParts(delayed, (message) => {
        change.takeOut(application, message);
        change.waitAgain(application, message, { ...message, dueMs: at.nowMs });
      });
      state.apply(change, () => {
        if (application.arrivals !== arrivals) application.againDueMs = at.nowMs;
      });
      state.content.changed(application);
      await state.write('release', change);
      state.content.place(application, state.now());
      state.tellListeners();
    });
  }
}
