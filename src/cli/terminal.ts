/** What a command sees of the process that runs it; tests give one of their own. */

/**
 * Why a command is to end before its work is done. A reader of its output that left has seen enough; an
 * output that cannot be written, as on a full disk, has lost a part of the result.
 */
export type EndReason = 'interrupted' | 'output-closed' | 'output-failed';

/** The reason of a terminal's signal. */
export class CommandEnded extends Error {
  readonly reason: EndReason;

  constructor(reason: EndReason, cause?: unknown) {
    super(`the command was ended: ${reason}`, { cause });
    this.name = 'CommandEnded';
    this.reason = reason;
  }
}

export interface TerminalOutput {
  readonly isTerminal: boolean;
  /** How many characters a line has. */
  readonly columns: number;
  readonly hasColours: boolean;
  /** Resolves when the text is taken, so that a slow reader slows its writer; never rejects. */
  write(text: string): Promise<void>;
}

/** By which a file is known, whatever its name. */
export interface FileIdentity {
  readonly dev: bigint;
  readonly ino: bigint;
}

export interface TerminalInput extends AsyncIterable<Uint8Array> {
  readonly isTerminal: boolean;
  /** The file that is read by `< file`; nothing where it is a pipe or a terminal. */
  file(): FileIdentity | undefined;
}

export interface TerminalClock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never jumps. */
  monotonicMs(): number;
  /** Resolves after `ms`, or at once when `signal` is aborted; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Terminal {
  readonly input: TerminalInput;
  /** Results, and nothing else. */
  readonly output: TerminalOutput;
  /** Progress, prompts and errors. */
  readonly errors: TerminalOutput;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C, SIGTERM, SIGHUP, or a reader of the output that left. */
  readonly signal: AbortSignal;
  /**
   * For what must not be left behind: `work` is done, at once, where a second Ctrl-C ends the process before
   * the command has ended. Gives what takes that back.
   */
  beforeForcedEnd(work: () => void): () => void;
  readonly clock: TerminalClock;
}

/** Why the command is to end; nothing while it may go on. */
export const endOf = (signal: AbortSignal): EndReason | undefined =>
  signal.reason instanceof CommandEnded ? signal.reason.reason : undefined;

const ESCAPES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type Style = keyof typeof ESCAPES;

/** The text in a style where the output has colours, and as it is elsewhere. */
export function paint(output: TerminalOutput, style: Style, text: string): string {
  const [on, off] = ESCAPES[style];
  return output.hasColours ? `\u001B[${on}m${text}\u001B[${off}m` : text;
}

/** https://no-color.org; FORCE_COLOR as Node reads it. */
export function wantsColours(environment: Terminal['environment'], isTerminal: boolean): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = environment;
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '') return FORCE_COLOR !== '0';
  return isTerminal && TERM !== 'dumb';
}
