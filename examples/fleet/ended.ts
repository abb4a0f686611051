import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Resolves when it has ended, also where it had before: what is over tells of its end no more. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
