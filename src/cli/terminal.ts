/** The interface of a terminal (tests pass a fake one), and functions that make text safe to print. */
import { styleText } from 'node:util';
import type { Clock } from '../runtime/clock.ts';

/**
 * Why a command has to stop early. `output-closed`: the reader of standard output has seen enough, as
 * `head` does. `output-failed`: standard output cannot be written, for example because the disk is full.
 */
export type EndReason = 'interrupted' | 'output-closed' | 'output-failed';

/** The abort reason of a terminal's signal. */
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
  /** Characters per line. */
  readonly columns: number;
  readonly hasColours: boolean;
  /** Resolves when the stream has taken the text, so a slow reader slows the command. Never rejects. */
  write(text: string): Promise<void>;
}

export type TerminalClock = Pick<Clock, 'monotonicMs' | 'now' | 'sleep'>;

export interface Terminal {
  readonly input: AsyncIterable<Uint8Array> & { readonly isTerminal: boolean };
  /** Results only. */
  readonly output: TerminalOutput;
  /** Progress, notes and errors. */
  readonly errors: TerminalOutput;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Aborted by Ctrl-C, SIGTERM, SIGHUP, or when standard output fails or its reader leaves. */
  readonly signal: AbortSignal;
  readonly clock: TerminalClock;
}

/** Returns why the command has to stop; undefined while it may continue. */
export const endReasonOf = (signal: AbortSignal): EndReason | undefined =>
  signal.reason instanceof CommandEnded ? signal.reason.reason : undefined;

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** Adds the style if the output shows colours. */
export const paint = ({ hasColours }: TerminalOutput, style: Style, text: string): string =>
  hasColours ? styleText(style, text, { validateStream: false }) : text;

// Controls except tab; format characters except the joiners that scripts and emoji need; Unicode line
// ends; lone surrogates.
const UNPRINTABLE = /(?![\t\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const hexEscape = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;

/**
 * Makes untrusted text safe to print on one line. Characters that move the cursor, change colours or
 * reverse text become visible escapes; a received payload could otherwise rewrite the screen.
 */
export const printable = (text: string): string =>
  text.replaceAll(UNPRINTABLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\u{${code.toString(16)}}` : hexEscape(code);
  });

/** Formats a result for programs: one line of JSON that is safe to look at in a terminal. */
export const jsonLine = (value: unknown): string =>
  `${JSON.stringify(value).replaceAll(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, at) => hexEscape(character.charCodeAt(at))).join(
      '',
    ),
  )}\n`;

/** Replaces the progress line on a terminal; an empty text clears it. Prints nothing elsewhere. */
export async function showProgress({ errors, environment }: Terminal, text: string): Promise<void> {
  // A dumb terminal would print the sequence that clears the line.
  if (!errors.isTerminal || environment['TERM'] === 'dumb') return;
  // A full line would wrap.
  await errors.write(`\r\u001B[K${paint(errors, 'dim', text.slice(0, errors.columns - 1))}`);
}
