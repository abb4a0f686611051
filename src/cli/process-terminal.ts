/** The terminal of a real process: its streams, its environment, its signals. */
import { fstatSync } from 'node:fs';
import { systemClock } from '../runtime/clock.ts';
import {
  CommandEnded,
  type FileIdentity,
  type Terminal,
  type TerminalInput,
  type TerminalOutput,
  wantsColours,
} from './terminal.ts';

type Host = Pick<
  NodeJS.Process,
  'env' | 'kill' | 'off' | 'once' | 'pid' | 'stderr' | 'stdin' | 'stdout'
>;

const DEFAULT_COLUMNS = 80;
/** The last is a terminal's window that was closed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface ProcessTerminal extends Terminal {
  /** Lets the process end: an input that is still open would keep it. */
  release(): void;
}

/** Who read has left: `head`, or a program at the other end of a socket. */
const CLOSED: ReadonlySet<unknown> = new Set([
  'EPIPE',
  'EOF',
  'ECONNRESET',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
]);

const endBy = (error: NodeJS.ErrnoException): CommandEnded =>
  CLOSED.has(error.code)
    ? new CommandEnded('output-closed')
    : new CommandEnded('output-failed', error);

function fileOf({ fd }: { readonly fd?: number }): FileIdentity | undefined {
  if (fd === undefined) return undefined;
  try {
    const stats = fstatSync(fd, { bigint: true });
    return stats.isFile() ? stats : undefined;
  } catch {
    return undefined;
  }
}

interface Written {
  readonly env: Terminal['environment'];
  readonly onError: (error: Error) => void;
}

function outputOf(stream: NodeJS.WriteStream, { env, onError }: Written): TerminalOutput {
  stream.on('error', onError);
  // Of a stream that is no terminal they are not set, whatever their types say.
  const isTerminal = Boolean(stream.isTTY);
  return {
    isTerminal,
    // A terminal that does not know its size says 0, or nothing.
    columns: isTerminal && stream.columns > 0 ? stream.columns : DEFAULT_COLUMNS,
    hasColours: wantsColours(env, isTerminal),
    write: (text) =>
      new Promise((resolve) => {
        // Before it resolves: the stream's own `error` comes when who writes may be at its end already.
        stream.write(text, (error) => {
          if (error) onError(error);
          resolve();
        });
      }),
  };
}

/**
 * Calls `interrupt` at the first signal. A second one finds Node's own way, and ends a command that does
 * not listen; what must not be left behind is seen to before.
 */
function hearSignals(host: Host, interrupt: () => void) {
  const works = new Set<() => void>();
  const stop = (): void => {
    for (const name of SIGNALS) host.off(name, first).off(name, second);
  };
  const second = (name: NodeJS.Signals): void => {
    stop();
    for (const work of works) work();
    host.kill(host.pid, name);
  };
  const first = (): void => {
    stop();
    if (works.size > 0) for (const name of SIGNALS) host.once(name, second);
    interrupt();
  };
  for (const name of SIGNALS) host.once(name, first);
  const beforeForcedEnd = (work: () => void) => {
    works.add(work);
    return () => void works.delete(work);
  };
  return { stop, beforeForcedEnd };
}

export function processTerminal(host: Host): ProcessTerminal {
  const ending = new AbortController();
  const signals = hearSignals(host, () => ending.abort(new CommandEnded('interrupted')));
  let isInputUsed = false;
  // Who types nothing, or sends nothing, would keep the command waiting.
  ending.signal.addEventListener('abort', () => {
    if (isInputUsed) host.stdin.destroy(ending.signal.reason as CommandEnded);
  });
  const input: TerminalInput = {
    get isTerminal() {
      return Boolean(host.stdin.isTTY);
    },
    [Symbol.asyncIterator]: () => {
      isInputUsed = true;
      return host.stdin[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    },
    file: () => fileOf(host.stdin),
  };
  return {
    input,
    output: outputOf(host.stdout, {
      env: host.env,
      onError: (error) => ending.abort(endBy(error)),
    }),
    // Of standard error nobody waits for anything.
    errors: outputOf(host.stderr, { env: host.env, onError: () => undefined }),
    environment: host.env,
    signal: ending.signal,
    beforeForcedEnd: signals.beforeForcedEnd,
    clock: systemClock,
    release() {
      signals.stop();
      if (isInputUsed) host.stdin.destroy();
    },
  };
}
