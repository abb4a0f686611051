/** How the examples start processes of their own. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';

export interface StartedProcess {
  /** Resolves when the process sends a message: it is ready. */
  readonly ready: Promise<unknown>;
  readonly ended: Promise<unknown>;
  /** Ends it at once, as a crash does. */
  readonly kill: () => void;
  /** Asks it to finish its work and end: it gets `disconnect`. */
  readonly stop: () => void;
}

export function startProcess(file: URL, env: Readonly<Record<string, string>>): StartedProcess {
  const child = fork(file, { env: { ...process.env, ...env } });
  return {
    ready: once(child, 'message'),
    ended: once(child, 'exit'),
    kill: () => child.kill('SIGKILL'),
    stop: () => {
      if (child.connected) child.disconnect();
    },
  };
}
