import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Waits until a process has ended. One that has ended before emits no `exit` any more. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
