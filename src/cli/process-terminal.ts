/** The terminal of a real process: its streams, its environment, its signals. */
import { systemClock } from '../system/clock.ts';
import {
  CommandEnded,
  type Terminal,
  type TerminalInput,
  type TerminalOutput,
  wantsColours,
} from './terminal.ts';

type Host = Pick<NodeJS.Process, 'env' | 'once' | 'off' | 'stderr' | 'stdin' | 'stdout'>;

const DEFAULT_COLUMNS = 80;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export interface ProcessTerminal extends Terminal {
  /** Lets the process end: an input that is still open would keep it. */
  release(): void;
}

function outputOf(stream: NodeJS.WriteStream, env: Terminal['environment']): TerminalOutput {
  // Of a stream that is no terminal they are not set, whatever their types say.
  const isTerminal = Boolean(stream.isTTY);
  return {
    isTerminal,
    columns: isTerminal ? stream.columns : DEFAULT_COLUMNS,
    hasColours: wantsColours(env, isTerminal),
    write: (text) =>
      new Promise((resolve) => {
        // A failure is told by the stream's `error`; there is nothing to do for who writes.
        stream.write(text, () => resolve());
      }),
  };
}

export function processTerminal(host: Host): ProcessTerminal {
  const ending = new AbortController();
  // Once only: a second Ctrl-C finds Node's own way, and ends a command that does not listen.
  const interrupt = (): void => ending.abort(new CommandEnded('interrupted'));
  for (const name of SIGNALS) host.once(name, interrupt);
  // EPIPE: who read has left, as `head` does. Of standard error nobody waits for anything.
  host.stdout.on('error', () => ending.abort(new CommandEnded('output-closed')));
  host.stderr.on('error', () => undefined);

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
  };
  return {
    input,
    output: outputOf(host.stdout, host.env),
    errors: outputOf(host.stderr, host.env),
    environment: host.env,
    signal: ending.signal,
    clock: systemClock,
    release() {
      for (const name of SIGNALS) host.off(name, interrupt);
      if (isInputUsed) host.stdin.destroy();
    },
  };
}
