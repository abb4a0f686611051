/** `flush` and `close`, and what they tell. */
import type { SenderProcess } from './sender-process.ts';
import type { Tracked } from './tracked.ts';
import type { World } from './world.ts';

const isPending = ({ state }: Tracked): boolean => state === 'waiting' || state === 'claimed';

/** Of a sender: accepted by it, and pending. */
function pendingOf(world: World, { key }: SenderProcess): Tracked[] {
  return [...world.book.messages.values()].filter(
    (message) => message.acceptedBy === key && isPending(message) && !message.isReplayed,
  );
}

const SLACK_MS = 5;

export async function watchFlush(
  world: World,
  process: SenderProcess,
  budgetMs: number | undefined,
): Promise<void> {
  const asked = { at: world.now, pending: pendingOf(world, process), calls: process.callCount };
  const budget = new AbortController();
  if (budgetMs !== undefined) void world.clock.sleep(budgetMs).then(() => budget.abort());
  const flushing = process.flush(budgetMs === undefined ? undefined : budget.signal);
  process.flushes.add(flushing);
  const result = await flushing;
  process.flushes.delete(flushing);
  if (!process.isAlive) return;
  const { delivered, dead, discarded, settledElsewhere, pending } = result;
  const told = () => `${process.key} after ${world.now - asked.at} ms: ${JSON.stringify(result)}`;
  world.tell(() => `flush of ${told()}`);
  const late = budgetMs === undefined ? 0 : world.now - asked.at - Math.max(1, budgetMs);
  world.check(late <= SLACK_MS, 'flush', () => `${late} ms after its end, ${told()}`);
  world.coverage.hit('flush', budget.signal.aborted ? 'aborted' : 'ended');
  // `close` ends what waits: it tells how much is left.
  if (budget.signal.aborted || process.isClosing) return;
  if (process.role === 'enqueue') {
    // Another process delivers: it ends when the queue has taken everything.
    const isAtOnce = asked.calls > 0 || world.now - asked.at <= SLACK_MS;
    world.check(isAtOnce, 'flush', told);
    return;
  }
  const open = asked.pending.filter((message) => isPending(message) && !message.isReplayed);
  world.check(
    pending === 0 && open.length === 0,
    'flush',
    () => `${told()}, but ${open.map(({ key }) => key).join(' ')} wait`,
  );
  const settled = delivered + dead + discarded + settledElsewhere;
  // Of several processes one may hear late of what another one has settled.
  const isAlone = world.scenario.processes.length === 1;
  const most = isAlone ? asked.pending.length + process.backlogMessages : Number.POSITIVE_INFINITY;
  world.check(
    asked.calls > 0 || (settled >= asked.pending.length && settled <= most),
    'flush',
    () => `${told()}, ${asked.pending.length} to ${most} were pending`,
  );
}

export async function watchClose(
  world: World,
  process: SenderProcess,
  deadlineMs: number,
): Promise<void> {
  const askedAt = world.now;
  world.tell(() => `${process.key} closes within ${deadlineMs} ms`);
  const result = await process.close(deadlineMs).catch(() => undefined);
  if (!process.isAlive) return;
  if (result === undefined) {
    // A queue that fails cannot be closed; its process ends all the same.
    world.check(
      world.now <= world.troubledUntil,
      'close-report',
      () => `${process.key} did not close`,
    );
    process.crash();
    return;
  }
  const tookMs = world.now - askedAt;
  world.tell(
    () => `${process.key} is closed: ${result.returned.length} returned, ${result.left} left`,
  );
  const isTroubled = world.now <= world.troubledUntil;
  world.check(
    isTroubled || tookMs <= Math.max(1, deadlineMs) + SLACK_MS,
    'close-report',
    () => `${process.key} took ${tookMs} ms, it had ${deadlineMs}`,
  );
  const all = [...world.book.messages.values()];
  const left = process.knowsWhatIsLeft ? all.filter(isPending).length : 0;
  const returned = all.filter(({ discardReason }) => discardReason === 'returned');
  const ids = new Set(result.returned.map(({ message_id }) => message_id));
  world.check(
    result.left === left &&
      ids.size === returned.length &&
      returned.every(({ messageId }) => ids.has(messageId)),
    'close-report',
    () =>
      `${result.returned.length} returned and ${result.left} left, instead of ${returned.length} and ${left}`,
  );
  const outcome = result.left > 0 ? 'some left' : 'all delivered';
  world.coverage.hit('close', result.returned.length > 0 ? 'some returned' : outcome);
  for (const message of result.returned) {
    const { sends } = world.book.message(message.message_id);
    world.check(
      message.sends === sends,
      'close-report',
      () => `${message.message_id}: ${message.sends} sends instead of ${sends}`,
    );
  }
}
