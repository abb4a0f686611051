/** A retry schedule as a table for people. */
import type { ExplainedAttempt, ExplainedSchedule } from '../index.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** `2 h 30 min`, `6.25 s`, `500 ms`; nothing of it is rounded. */
export function exactDuration(ms: number): string {
  if (ms === 0) return '0 s';
  if (ms < SECOND_MS) return `${ms} ms`;
  const hours = Math.floor(ms / HOUR_MS);
  const minutes = Math.floor((ms % HOUR_MS) / MINUTE_MS);
  const seconds = (ms % MINUTE_MS) / SECOND_MS;
  const parts: readonly (readonly [number, string])[] = [
    [hours, 'h'],
    [minutes, 'min'],
    [seconds, 's'],
  ];
  return parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

const END_WORDS: Readonly<Record<ExplainedSchedule['end'], string>> = {
  'attempts-exhausted': 'given up, since the schedule has no more delays',
  'horizon-passed': 'given up, since the next attempt would be after the horizon',
  'wait-too-long': 'given up, since the next wait would be longer than any may be',
  'list-full': 'there are more, which are not listed',
};

const HEADINGS = ['attempt', 'wait', 'earliest', 'latest', ''] as const;

/** Line by line: an attempt each, and at the end how it ends. */
export function scheduleTable(schedule: ExplainedSchedule): string[] {
  const { attempts } = schedule;
  const cells = attempts.map((attempt, index) => cellsOf(attempt, attempts[index - 1]));
  const rows = [HEADINGS, ...cells];
  const widths = HEADINGS.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] as string).length)),
  );
  const lines = rows.map((row) =>
    row
      .map((cell, column) =>
        cell.padStart(column === HEADINGS.length - 1 ? 0 : (widths[column] as number)),
      )
      .join('  ')
      .trimEnd(),
  );
  return [...lines, '', ...endOf(schedule)];
}

function cellsOf(attempt: ExplainedAttempt, before: ExplainedAttempt | undefined): string[] {
  const waitMs = before === undefined ? 0 : attempt.earliestMs - before.earliestMs;
  return [
    String(attempt.attempt),
    exactDuration(waitMs),
    exactDuration(attempt.earliestMs),
    exactDuration(attempt.latestMs),
    attempt.isCertain ? '' : 'not with every jitter',
  ];
}

function endOf({ attempts, end, horizonMs }: ExplainedSchedule): string[] {
  const first = attempts[0] as ExplainedAttempt;
  const { earliestMs, latestMs } = attempts.at(-1) ?? first;
  const count = attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`;
  const time =
    latestMs === 0
      ? 'at once'
      : `the last after ${exactDuration(earliestMs)} to ${exactDuration(latestMs)}`;
  const horizon = horizonMs === undefined ? 'no horizon' : `horizon ${exactDuration(horizonMs)}`;
  return [`total: ${count}, ${time}; ${horizon}; ${END_WORDS[end]}`];
}
