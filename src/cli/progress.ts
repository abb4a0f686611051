/** One line on a terminal that is written over and over, and nothing anywhere else. */
import { paint, type Terminal } from './terminal.ts';

export interface Progress {
  /** Ends it and takes the line away. */
  stop(): Promise<void>;
}

const EVERY_MS = 200;
const CLEAR_LINE = '\r\u001B[K';

/** @param text asked for the line again and again; what does not fit is cut off. */
export function startProgress(terminal: Terminal, text: () => string): Progress {
  const { errors, clock } = terminal;
  // One that is dumb prints what should clear the line.
  const canClear = errors.isTerminal && terminal.environment['TERM'] !== 'dumb';
  if (!canClear) return { stop: () => Promise.resolve() };
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      // One column is left free: a full line would wrap.
      const line = text().slice(0, errors.columns - 1);
      await errors.write(`${CLEAR_LINE}${paint(errors, 'dim', line)}`);
      await clock.sleep(EVERY_MS, stopping.signal);
    }
    await errors.write(CLEAR_LINE);
  };
  const ended = run();
  return {
    stop: () => {
      stopping.abort();
      return ended;
    },
  };
}

const BAR_WIDTH = 24;

/** `[######------------------]`; empty where nobody knows the whole. */
export function bar(done: number, whole: number | undefined): string {
  if (whole === undefined || whole === 0) return '';
  const full = Math.floor((Math.min(done, whole) / whole) * BAR_WIDTH);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_WIDTH - full)}] `;
}
