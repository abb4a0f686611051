/** How a command that cannot do its work ends: one table of exit codes, and what a person is told. */
import { SecurityEventError } from '../index.ts';
import { printable } from './printable.ts';
import { CommandEnded } from './terminal.ts';

export const EXIT_CODES = {
  0: 'done, and the answer is yes',
  1: 'done, and the answer is no: something is invalid, not genuine, or was not delivered',
  2: 'used wrongly: an unknown option, a missing argument, a value that is not usable',
  3: 'something outside failed: a file, a port, the network, a database',
  130: 'ended by Ctrl-C, SIGTERM or SIGHUP before its work was done',
} as const;

export type ExitCode = keyof typeof EXIT_CODES;

/** A command cannot go on, and knows why. Holds no secret and no payload. */
export class CommandFailure extends Error {
  readonly exitCode: 2 | 3;
  readonly hint: string | undefined;

  constructor(exitCode: 2 | 3, message: string, hint?: string) {
    super(message);
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** The command was used wrongly. */
export const misuse = (message: string, hint?: string): CommandFailure =>
  new CommandFailure(2, message, hint);

/** Something outside of the command failed. */
export const outage = (message: string, hint?: string): CommandFailure =>
  new CommandFailure(3, message, hint);

/** What Node's errors of files and sockets mean to a person; others are told by their code. */
const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRINUSE: 'the port is in use',
  EADDRNOTAVAIL: 'the address is not one of this machine',
  ECONNREFUSED: 'nothing listens there',
  EEXIST: 'it exists already',
  EISDIR: 'it is a folder',
  ENOENT: 'no such file or folder',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of the path is no folder',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
};

/** `code` of an error of Node's, and the path it is about. */
function systemErrorOf(error: unknown): { code: string; path: string | undefined } | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('syscall' in error)) return undefined;
  if (typeof error.code !== 'string') return undefined;
  const path = 'path' in error && typeof error.path === 'string' ? error.path : undefined;
  return { code: error.code, path };
}

/** The same error with the path it is about: some lines of Node name none where a folder is read. */
export function about(path: string, error: unknown): unknown {
  const found = systemErrorOf(error);
  return found === undefined || found.path !== undefined
    ? error
    : Object.assign(error as Error, { path });
}

export interface ToldFailure {
  readonly exitCode: ExitCode;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Names of files, and what a database says, are of others; a stack has several lines. */
const shown = (text: string): string => text.split('\n').map(printable).join('\n');

/** What a person is told of anything thrown, and the exit code. */
export function tellFailure(error: unknown): ToldFailure {
  const { exitCode, message, hint } = told(error);
  return { exitCode, message: shown(message), hint: hint === undefined ? hint : shown(hint) };
}

function told(error: unknown): ToldFailure {
  if (error instanceof CommandEnded && error.cause !== undefined) {
    return { exitCode: 3, message: `standard output: ${told(error.cause).message}` };
  }
  if (error instanceof CommandFailure) return error;
  if (error instanceof SecurityEventError) {
    // Its message has the hint.
    return { exitCode: error.kind === 'caller' ? 2 : 3, message: error.message };
  }
  const system = systemErrorOf(error);
  if (system !== undefined) {
    const words = SYSTEM_WORDS[system.code] ?? system.code;
    return {
      exitCode: 3,
      message: system.path === undefined ? words : `${printable(system.path)}: ${words}`,
    };
  }
  // A fault of ours. Its message may quote what was read, so only its place is told.
  const { name, stack } = error instanceof Error ? error : { name: 'a throw', stack: undefined };
  const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    exitCode: 3,
    message: `an unexpected ${name}\n${frames.slice(0, 5).join('\n')}`,
    hint: 'This is a fault of security-events: please report it with the lines above.',
  };
}
