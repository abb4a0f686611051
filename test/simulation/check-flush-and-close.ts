/** Checks what `flush` and `close` report. */
import type { SenderProcess } from './sender-process.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

const isPending = ({ state }: Tracked): boolean => state === 'waiting' || state === 'claimed';

/** Returns the pending messages that the sender accepted. */
function pendingOf(world: World, { key }: SenderProcess): Tracked[] {
  return [...world.expected.messages.values()].filter(
    (message) => message.acceptedBy === key && isPending(message) && !message.isReplayed,
  );
}

const SLACK_MS = 5;

export async function watchFlush(
  world: World,
  process: SenderProcess,
  budgetMs: number | undefined,
): Promise<void> {
  const start = { at: world.now, pending: pendingOf(world, process), calls: process.callCount };
  const budget = new AbortController();
  if (budgetMs !== undefined) void world.clock.sleep(budgetMs).then(() => budget.abort());
  const flushing = process.flush(budgetMs === undefined ? undefined : budget.signal);
  process.flushes.add(flushing);
  const result = await flushing;
  process.flushes.delete(flushing);
  if (!process.isAlive) return;
  const { delivered, dead, discarded, settledElsewhere, pending } = result;
  const detail = () => `${process.key} after ${world.now - start.at} ms: ${JSON.stringify(result)}`;
  world.log(() => `flush of ${detail()}`);
  const lateMs = budgetMs === undefined ? 0 : world.now - start.at - Math.max(1, budgetMs);
  world.check(lateMs <= SLACK_MS, 'flush', () => `${lateMs} ms late, ${detail()}`);
  // `close` and the signal end a flush early. It then reports what is left.
  if (budget.signal.aborted || process.isClosing) return;
  if (process.role === 'enqueue') {
    // Another process delivers, so flush ends when the queue has accepted everything.
    const isAtOnce = start.calls > 0 || world.now - start.at <= SLACK_MS;
    world.check(isAtOnce, 'flush', detail);
    return;
  }
  const open = start.pending.filter((message) => isPending(message) && !message.isReplayed);
  world.check(
    pending === 0 && open.length === 0,
    'flush',
    () => `${detail()}, but ${open.map(({ key }) => key).join(' ')} wait`,
  );
  const settled = delivered + dead + discarded + settledElsewhere;
  // A process may learn late what another process has settled.
  const isAlone = world.scenario.processes.length === 1;
  const most = isAlone ? start.pending.length + process.backlogMessages : Number.POSITIVE_INFINITY;
  world.check(
    start.calls > 0 || (settled >= start.pending.length && settled <= most),
    'flush',
    () => `${detail()}, ${start.pending.length} to ${most} were pending`,
  );
}

export async function watchClose(
  world: World,
  process: SenderProcess,
  deadlineMs: number,
): Promise<void> {
  const calledAt = world.now;
  world.log(() => `${process.key} closes within ${deadlineMs} ms`);
  const result = await process.close(deadlineMs).catch(() => undefined);
  if (!process.isAlive) return;
  if (result === undefined) {
    // A failing queue cannot be closed. The process ends anyway.
    world.check(
      world.now <= world.unstableUntil,
      'close-report',
      () => `${process.key} did not close`,
    );
    process.crash();
    return;
  }
  const tookMs = world.now - calledAt;
  world.log(
    () =>
      `${process.key} is closed: ${result.returned.length} returned, ${result.remaining} remaining`,
  );
  const isUnstable = world.now <= world.unstableUntil;
  world.check(
    isUnstable || tookMs <= Math.max(1, deadlineMs) + SLACK_MS,
    'close-report',
    () => `${process.key} took ${tookMs} ms, it had ${deadlineMs}`,
  );
  const all = [...world.expected.messages.values()];
  const left = process.knowsWhatIsLeft ? all.filter(isPending).length : 0;
  const returned = all.filter(({ discardReason }) => discardReason === 'returned');
  const ids = new Set(result.returned.map(({ message_id }) => message_id));
  world.check(
    result.remaining === left &&
      ids.size === returned.length &&
      returned.every(({ messageId }) => ids.has(messageId)),
    'close-report',
    () =>
      `${result.returned.length} returned and ${result.remaining} left, instead of ${returned.length} and ${left}`,
  );
  for (const message of result.returned) {
    const { sends } = world.expected.message(message.message_id);
    world.check(
      message.sends === sends,
      'close-report',
      () => `${message.message_id}: ${message.sends} sends instead of ${sends}`,
    );
  }
}
