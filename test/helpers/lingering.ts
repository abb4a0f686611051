/** Measures how long a process goes on, regardless of the machine's load. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';

const INTERVAL_MS = 20;

/** What counts at most between two looks at the process, since the machine may have stopped meanwhile. */
const MAX_INTERVAL_MS = 100;

/** Unit of the CPU times in /proc, on all architectures of Linux. */
const TICK_MS = 10;

interface Activity {
  /** Whether a thread runs, or waits for a core or a disk. */
  readonly isWorking: boolean;
  readonly cpuMs: number;
}

/** The fields of a stat file after the name of the program, which may contain spaces. */
function fieldsOf(statFile: string): readonly string[] {
  const text = readFileSync(statFile, 'latin1');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Returns undefined once the process has ended. */
function activityOf(pid: number): Activity | undefined {
  try {
    const { 11: user, 12: system } = fieldsOf(`/proc/${pid}/stat`);
    const states = readdirSync(`/proc/${pid}/task`).map(
      (thread) => fieldsOf(`/proc/${pid}/task/${thread}/stat`)[0] ?? '',
    );
    const isWorking = states.some((state) => 'RD'.includes(state));
    return { isWorking, cpuMs: (Number(user) + Number(system)) * TICK_MS };
  } catch {
    return undefined;
  }
}

/**
 * Begins to measure how long a process goes on. Returns a function that ends this, and returns the time for which all
 * its threads slept and the CPU time that it used, in milliseconds: a busy machine adds neither. Outside Linux, returns
 * the time that passed.
 */
export function measureLingering(pid: number): () => number {
  const startedMs = performance.now();
  if (!existsSync('/proc/self/task')) return () => performance.now() - startedMs;
  const before = activityOf(pid)?.cpuMs ?? 0;
  let cpuMs = before;
  let sleptMs = 0;
  let lookedMs = startedMs;
  const timer = setInterval(() => {
    const activity = activityOf(pid);
    const nowMs = performance.now();
    if (activity?.isWorking === false) sleptMs += Math.min(MAX_INTERVAL_MS, nowMs - lookedMs);
    cpuMs = activity?.cpuMs ?? cpuMs;
    lookedMs = nowMs;
  }, INTERVAL_MS);
  return () => {
    clearInterval(timer);
    return sleptMs + cpuMs - before;
  };
}
