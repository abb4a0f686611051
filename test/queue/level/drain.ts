/** What is in a queue in a folder in the end. */
import { ClassicLevel } from 'classic-level';
import type { MessageQueue } from '../../../src/queue/level/old-contract.ts';
import { isClaim, ROW } from './old-trial.ts';

/** Takes all that waits, as deliveries, and tells what is not given though it waits. */
export async function drain(queue: MessageQueue): Promise<string | undefined> {
  const until = performance.now() + 3000;
  for (const id of (await queue.stats()).applications.keys()) await queue.reopen(id);
  for (;;) {
    const claim = await queue.claim({
      tiers: ['healthy', 'failing'],
      maxMessages: 1000,
      maxBytes: 1e9,
      leaseMs: 1000,
    });
    if (isClaim(claim)) {
      const verdicts = claim.messages.map(() => ({ kind: 'delivered' }) as const);
      await queue.settle(claim, verdicts, { ...ROW, waitMs: 0 });
      continue;
    }
    const { pending, pendingBytes, applications } = await queue.stats();
    if (pending === 0) return pendingBytes === 0 ? undefined : `${pendingBytes} bytes of nothing`;
    const waits = [...applications].flatMap(([id, one]) =>
      one.pending > 0 ? [[id, one.pending]] : [],
    );
    if (claim.dueInMs === undefined) return `${JSON.stringify(waits)} are never due`;
    if (performance.now() > until) return `${JSON.stringify(waits)} are due in ${claim.dueInMs}`;
    await new Promise((resolve) => void setTimeout(resolve, Math.min(10, claim.dueInMs ?? 0)));
  }
}

/** How many rows each table has. */
export async function tables(folder: string): Promise<Record<string, number>> {
  const level = new ClassicLevel(folder);
  const counts: Record<string, number> = {};
  for await (const key of level.keys()) {
    const [table = ''] = key;
    counts[table] = (counts[table] ?? 0) + 1;
  }
  await level.close();
  return counts;
}
