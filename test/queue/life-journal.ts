/** Reads the journals of processes that were killed, and compares them with the queue that they used. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { fixtureCommand } from '../helpers/child-programs.ts';
import { isClaim, REQUEST, settleAll } from './conformance/trial.ts';

/** Starts a program of test/fixtures that uses a queue until it is killed. */
export async function startLife(program: string, args: readonly string[]): Promise<ChildProcess> {
  const [node = '', ...rest] = fixtureCommand(program, args);
  const child = spawn(node, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${program} ended before it began`);
  });
  // It is killed later, when nobody waits for its end.
  ended.catch(() => {});
  await Promise.race([once(child.stdout, 'data'), ended]);
  return child;
}

export async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  assert.equal(child.signalCode, 'SIGKILL');
}

/** Empties the queue. Returns the number of sends of each message and dead letter, by id. */
async function emptied(queue: MessageQueue): Promise<Map<string, number>> {
  const stats = await queue.stats();
  const discarded = Object.values(stats.discarded).reduce((sum, count) => sum + count, 0);
  assert.equal(stats.delivered + stats.pending + stats.dead + discarded, stats.accepted);
  const { items } = await queue.listDeadLetters({ limit: 1_000_000 });
  const found = new Map(items.map(({ stored, sends }) => [stored.messageId, sends]));
  assert.deepEqual([items.length, found.size], [stats.dead, stats.dead]);
  for (const name of stats.applications.keys()) await queue.reopenApplication(name);
  const request = { ...REQUEST, ofHealth: ['healthy', 'failing'] } as const;
  for (;;) {
    const claim = await queue.claim(request);
    if (!isClaim(claim)) {
      // Some messages wait for a retry, and claims of killed processes end with their leases.
      if ((await queue.stats()).pending === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
      continue;
    }
    for (const { stored, retryCount } of claim.messages) found.set(stored.messageId, retryCount);
    assert.equal(await settleAll(queue, claim), 'settled');
  }
  assert.equal(found.size, stats.dead + stats.pending);
  assert.equal((await queue.stats()).pendingBytes, 0);
  return found;
}

export class LifeJournal {
  readonly file: string;

  constructor(file: string) {
    this.file = file;
  }

  /** Returns the ids of the lines that begin with the word and have that verdict, if one is given. */
  idsOf(word: string, verdict?: string): string[] {
    const lines = readFileSync(this.file, 'utf8').split('\n').slice(0, -1);
    return lines
      .map((line) => line.split(' '))
      .filter(([first, , third]) => first === word && third === (verdict ?? third))
      .map(([, id = '']) => id);
  }

  #linesOf(id: string): string {
    const lines = readFileSync(this.file, 'utf8').split('\n');
    return lines.filter((line) => line.split(' ')[1] === id).join(', ');
  }

  /** Waits until the processes have journaled enough: a busy machine takes longer. */
  async waitUntilBusy(generations: number): Promise<void> {
    const isBusy = () =>
      this.idsOf('accepted').length > 20 * generations &&
      this.idsOf('sent').length > 10 * generations;
    while (!isBusy()) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  /**
   * Empties an open queue and checks that no accepted message is lost, none that was settled is back, and no attempt
   * is forgotten. `unseen`: number of claims that a killed process may not have written down.
   */
  async judge(queue: MessageQueue, unseen: number): Promise<void> {
    const found = await emptied(queue);
    const ended = new Set([...this.idsOf('settling', 'delivered'), ...this.idsOf('purging')]);
    const accepted = this.idsOf('accepted');
    assert.ok(accepted.length > 30);
    const lost = accepted.filter((id) => !found.has(id) && !ended.has(id));
    assert.deepEqual(lost, []);
    const back = this.idsOf('settled', 'delivered').filter((id) => found.has(id));
    assert.deepEqual(back, []);
    const sent = new Map<string, number>();
    for (const id of this.idsOf('sent')) sent.set(id, (sent.get(id) ?? 0) + 1);
    assert.ok(sent.size > 10);
    for (const [id, sends] of found) {
      const truth = sent.get(id) ?? 0;
      // Searched only on a failure: with hundreds of kills the journal has thousands of ids.
      if (sends < truth || sends > truth + unseen)
        assert.fail(`sent ${truth} times, not ${sends}: ${this.#linesOf(id)}`);
    }
  }
}
