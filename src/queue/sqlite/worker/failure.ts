/** Converts errors to answers. Their texts contain no values of rows, since these can be confidential. */
import type { FailureAnswer } from '../protocol.ts';

/** A call that is refused before it has changed anything. */
export class Rejection extends Error {
  readonly code: FailureAnswer['code'];
  readonly path: readonly string[];

  constructor(
    code: FailureAnswer['code'],
    detail: string,
    { path = [], cause }: { readonly path?: readonly string[]; readonly cause?: unknown } = {},
  ) {
    super(detail, cause === undefined ? undefined : { cause });
    this.code = code;
    this.path = path;
  }
}

const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const NOTADB = 26;
/** Extended codes of writes without space, also because of a limit on file sizes. */
const WRITE_FAILED = [778, 4874];

const errcodeOf = (error: unknown): number | undefined => {
  const code: unknown = error instanceof Error && 'errcode' in error ? error.errcode : undefined;
  return typeof code === 'number' ? code : undefined;
};

const primaryOf = (error: unknown): number => (errcodeOf(error) ?? 0) & 0xff;

/** Whether another connection locks the file. */
export const isBusy = (error: unknown): boolean =>
  [BUSY, LOCKED, PROTOCOL].includes(primaryOf(error));

export const isDiskFull = (error: unknown): boolean =>
  primaryOf(error) === FULL || WRITE_FAILED.includes(errcodeOf(error) ?? 0);

export const isNoDatabase = (error: unknown): boolean => primaryOf(error) === NOTADB;

/** Whether the connection has to be opened again. */
export const isBroken = (error: unknown): boolean =>
  [IOERR, CANTOPEN, READONLY].includes(primaryOf(error)) && !isDiskFull(error);

const DETAILS: Readonly<Record<number, string>> = {
  [READONLY]: 'the file or its disk is read-only',
  [IOERR]: 'the disk reported an error',
  [CANTOPEN]: 'the file cannot be opened',
};

function detailOf(error: unknown, file: string): string {
  if (isDiskFull(error)) return 'the disk is full';
  const primary = primaryOf(error);
  if (primary === CORRUPT || primary === NOTADB)
    return `the file is damaged: stop its processes and run \`sqlite3 ${file} .recover\``;
  return DETAILS[primary] ?? 'SQLite reported an error';
}

export function failureAnswer(error: unknown, file: string): FailureAnswer {
  const isOurs = error instanceof Rejection;
  const source = isOurs ? error.cause : error;
  const errcode = errcodeOf(source);
  const cause =
    source instanceof Error
      ? { cause: { message: source.message, ...(errcode === undefined ? {} : { errcode }) } }
      : {};
  if (isOurs) return { code: error.code, detail: error.message, path: error.path, ...cause };
  return { code: 'ERR_QUEUE_FAILED', detail: detailOf(error, file), ...cause };
}
