/** The terminal of a real process: its streams, environment and signals. */
import { systemClock } from '../runtime/clock.ts';
import { CommandEnded, type Terminal, type TerminalOutput } from './terminal.ts';

type Host = Pick<NodeJS.Process, 'env' | 'exit' | 'off' | 'on' | 'stderr' | 'stdin' | 'stdout'>;

const DEFAULT_COLUMNS = 80;
/** A closed terminal window sends SIGHUP. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const EXIT_INTERRUPTED = 130;

/** Error codes of an output whose reader has left, such as `head` or the other end of a socket. */
const READER_LEFT: ReadonlySet<unknown> = new Set([
  'EPIPE',
  'EOF',
  'ECONNRESET',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
]);

const outputEnd = (error: NodeJS.ErrnoException): CommandEnded =>
  READER_LEFT.has(error.code)
    ? new CommandEnded('output-closed')
    : new CommandEnded('output-failed', error);

function outputOf(
  stream: NodeJS.WriteStream,
  env: NodeJS.ProcessEnv,
  onError: (error: Error) => void,
): TerminalOutput {
  stream.on('error', onError);
  // Contrary to the types, other streams than terminals have neither `isTTY` nor `columns`.
  const isTerminal = Boolean(stream.isTTY);
  return {
    isTerminal,
    // A terminal that does not know its size reports 0 or undefined.
    columns: isTerminal && stream.columns > 0 ? stream.columns : DEFAULT_COLUMNS,
    // Respects NO_COLOR, FORCE_COLOR and TERM.
    hasColours: isTerminal && stream.hasColors(env),
    write: (text) =>
      new Promise((resolve) => {
        // Report before resolving: the stream emits `error` later, when the command may have ended.
        stream.write(text, (error) => {
          if (error) onError(error);
          resolve();
        });
      }),
  };
}

/** Calls `interrupt` at the first signal, and exits at the second. */
function listenForSignals(host: Host, interrupt: () => void): () => void {
  let isInterrupted = false;
  const onSignal = (): void => {
    if (isInterrupted) host.exit(EXIT_INTERRUPTED);
    isInterrupted = true;
    interrupt();
  };
  for (const name of SIGNALS) host.on(name, onSignal);
  return () => {
    for (const name of SIGNALS) host.off(name, onSignal);
  };
}

/** `release` releases standard input and the signals, which would keep the process alive. */
export function processTerminal(host: Host): Terminal & { release(): void } {
  const { env, stdin, stdout, stderr } = host;
  const ending = new AbortController();
  const stopListening = listenForSignals(host, () => ending.abort(new CommandEnded('interrupted')));
  let isInputUsed = false;
  // An interrupted command must not wait for input.
  ending.signal.addEventListener('abort', () => {
    if (isInputUsed) stdin.destroy(ending.signal.reason as CommandEnded);
  });
  return {
    input: {
      isTerminal: Boolean(stdin.isTTY),
      [Symbol.asyncIterator]: () => {
        isInputUsed = true;
        return stdin[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
      },
    },
    output: outputOf(stdout, env, (error) => ending.abort(outputEnd(error))),
    // A closed standard error is no reason to stop.
    errors: outputOf(stderr, env, () => undefined),
    environment: env,
    signal: ending.signal,
    clock: systemClock,
    release() {
      stopListening();
      if (isInputUsed) stdin.destroy();
    },
  };
}
