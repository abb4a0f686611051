/** Exit codes, and the errors and messages of a command that fails. */
import { getSystemErrorMap } from 'node:util';
import { SecurityEventError, type SecurityEventErrorCode } from '../index.ts';
import { CommandEnded, printable } from './terminal.ts';

export const EXIT_CODES = {
  0: 'Success. For a check: valid.',
  1: 'Something is invalid or unknown, was rejected or was not delivered.',
  2: 'Wrong usage: unknown option, missing argument, invalid value.',
  3: 'A file, port, network or database is unusable.',
  130: 'Interrupted; listen and view then end with 0.',
} as const;

export type ExitCode = keyof typeof EXIT_CODES;

/** The command cannot continue and knows why. Contains no secret and no payload. */
export class CommandError extends Error {
  readonly exitCode: ExitCode;
  readonly hint: string | undefined;

  constructor(exitCode: ExitCode, message: string, hint?: string) {
    super(message);
    this.name = 'CommandError';
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

export const usageError = (message: string, hint?: string): CommandError =>
  new CommandError(2, message, hint);

export const environmentError = (message: string, hint?: string): CommandError =>
  new CommandError(3, message, hint);

/** Texts for Node's error codes. Without a text, the code itself is printed. */
const SYSTEM_MESSAGES = new Map([
  ...getSystemErrorMap().values(),
  ['EISDIR', 'is a directory'],
  ['ENOTFOUND', 'unknown host'],
]);

interface SystemError extends Error {
  readonly code: string;
  readonly path?: unknown;
}

const isSystemError = (error: unknown): error is SystemError =>
  error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string';

/** Adds the path to a system error without one, such as that of reading a directory. */
export const withPath = (path: string, error: unknown): unknown =>
  isSystemError(error) && error.path === undefined ? Object.assign(error, { path }) : error;

/** File names and database messages are untrusted; a stack has several lines. */
const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');

type ErrorReport = Pick<CommandError, 'exitCode' | 'message' | 'hint'>;

export function describeError(error: unknown): ErrorReport {
  const { exitCode, message, hint } = commandError(error);
  return { exitCode, message: printableLines(message), hint: hint && printableLines(hint) };
}

/** Returns what to do if the network guard refused an address. `detail` is its text. */
export const addressHint = (detail: string): string =>
  detail.includes("only network: 'delegated'")
    ? 'This command cannot connect to such an address. Use another URL.'
    : 'Use --network allow-private to reach private addresses. The sender needs the same option.';

/** Replaces hints of the library that do not fit a command, since they name options of the API. */
const HINTS: Readonly<Partial<Record<SecurityEventErrorCode, string>>> = {
  ERR_PEER_MISSING: 'Install the package that the message names.',
};

const LOST_ANSWER = 'If only its answer was lost, the command may have taken effect.';

/** Describes a queue that failed, with the options of the command instead of those of the API. */
function queueError(what: string): CommandError {
  if (what.includes('transactionPooling')) {
    return environmentError(
      what.replace('set transactionPooling: true', 'use --transaction-pooling'),
    );
  }
  if (what.includes('the schema is missing')) {
    return environmentError(what, 'If the queue has another schema, name it with --schema.');
  }
  const isUnreached = /no connection|did not answer/.test(what);
  return environmentError(
    what,
    isUnreached ? `Is the database reachable? ${LOST_ANSWER}` : LOST_ANSWER,
  );
}

function libraryError({ code, kind, message, hint }: SecurityEventError): CommandError {
  // Its message ends with the hint, or with a suggestion.
  const what = message.endsWith(hint) ? message.slice(0, -`. ${hint}`.length) : message;
  if (code === 'ERR_QUEUE_FAILED') return queueError(what);
  const usable = hint.includes('`') ? undefined : hint;
  const better = code === 'ERR_ADDRESS_REFUSED' ? addressHint(message) : HINTS[code];
  return new CommandError(kind === 'caller' ? 2 : 3, what, better ?? usable);
}

function commandError(error: unknown): CommandError {
  if (error instanceof CommandEnded && error.cause !== undefined) {
    return environmentError(`standard output: ${commandError(error.cause).message}`);
  }
  if (error instanceof CommandError) return error;
  if (error instanceof SecurityEventError) return libraryError(error);
  if (isSystemError(error)) {
    const { code, path } = error;
    const message = SYSTEM_MESSAGES.get(code) ?? code;
    return environmentError(typeof path === 'string' ? `${printable(path)}: ${message}` : message);
  }
  // Our bug. Its message may quote input, so only the stack frames are shown.
  const { name, stack = '' } = error instanceof Error ? error : { name: 'error' };
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return environmentError(
    [`unexpected ${name}`, ...frames.slice(0, 5)].join('\n'),
    'This is a bug in security-events. Please report it with the lines above.',
  );
}
