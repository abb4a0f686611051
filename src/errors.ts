/**
 * Every error this library throws: one table of codes, one class.
 *
 * A message is built from the table and from names of fields, options and rules. It never contains a
 * secret, a payload or a received body, so it is safe to log.
 */
import { ownProperties } from './own-properties.ts';

/** The cause: the calling code, the environment (disk, network), or calls in the wrong order. */
export type ErrorKind = 'caller' | 'environment' | 'lifecycle';

interface ErrorRow {
  readonly kind: ErrorKind;
  /** What happened, without a full stop. */
  readonly what: string;
  /** What to do about it, a whole sentence. */
  readonly hint: string;
}

export const ERROR_TABLE = {
  ERR_INVALID_RECORD: {
    kind: 'caller',
    what: 'The log record does not follow the contract',
    hint: 'Fix the field that `path` names; `input` has the record.',
  },
  ERR_INVALID_LINE: {
    kind: 'caller',
    what: 'The text is not one log line',
    hint: 'Pass one line of JSON with a log record.',
  },
  ERR_INVALID_MESSAGE: {
    kind: 'caller',
    what: 'A webhook message does not follow the contract',
    hint: 'Fix the field that `path` names; `input` has the messages, none of which was sent.',
  },
  ERR_INVALID_BODY: {
    kind: 'caller',
    what: 'The body of a webhook request is not usable',
    hint: 'Pass the body as received: a JSON array of messages; `input` has it.',
  },
  ERR_RAW_BODY_GONE: {
    kind: 'caller',
    what: 'The raw body of the request is gone: something parsed it before the webhook receiver',
    hint: "Put the receiver before body parsers, or keep the bytes: `express.json({ limit: '2mb', verify: (request, _response, bytes) => { request.rawBody = bytes; } })`; without the limit, bodies of more than 100 KB are refused.",
  },
  ERR_MESSAGE_TOO_LARGE: {
    kind: 'caller',
    what: 'A webhook message is larger than a request or the queue allows',
    hint: 'Shorten the message or raise `maxBodyBytes`; `input` has the messages, none of which was sent.',
  },
  ERR_INVALID_OPTION: {
    kind: 'caller',
    what: 'An option is not usable',
    hint: 'Set the option that `path` names as documented.',
  },
  ERR_INVALID_URL: {
    kind: 'caller',
    what: 'The webhook URL is not usable',
    hint: 'Give an absolute http or https URL without credentials.',
  },
  ERR_INVALID_SECRET: {
    kind: 'caller',
    what: 'The webhook secret is not usable',
    hint: 'Use a non-empty string; `generateSecret()` makes one.',
  },
  ERR_INVALID_SVC_IDENTIFIER: {
    kind: 'caller',
    what: 'The svc_identifier is not padded base64 of UTF-8 text',
    hint: 'Pass a value from `encodeSvcIdentifier`.',
  },
  ERR_DESTINATION_NOT_SYNCHRONOUS: {
    kind: 'caller',
    what: 'The log destination writes later, so a record could be lost when the process ends',
    hint: 'Use a file path, a file descriptor or a synchronous stream, or accept the loss with `sync: false`.',
  },
  ERR_WRITE_FAILED: {
    kind: 'environment',
    what: 'The log record could not be written',
    hint: 'See `cause`, if any; `input` is the record of a failed `write`. The next write tries again.',
  },
  ERR_WRITER_CLOSED: {
    kind: 'lifecycle',
    what: 'The log writer is closed',
    hint: 'Write before `close`, or make a new writer; `input` has the record.',
  },
  ERR_SETTINGS_FAILED: {
    kind: 'environment',
    what: 'The settings could not be read',
    hint: 'Check the settings function or the settings file; `cause`, if there is one, says more.',
  },
  ERR_CONFIGURATION_FAILED: {
    kind: 'environment',
    what: 'The configuration could not be read or written',
    hint: 'See `cause` and try again; nothing was changed.',
  },
  ERR_PEER_MISSING: {
    kind: 'environment',
    what: 'A required package could not be loaded',
    hint: 'Install the package that the message names, and keep it out of bundles; see `cause`.',
  },
  ERR_ADDRESS_REFUSED: {
    kind: 'environment',
    what: 'The network guard refused the address of the webhook URL',
    hint: 'Use a public address, or set `network` as the message says.',
  },
  ERR_UNKNOWN_APPLICATION: {
    kind: 'caller',
    what: 'The application is unknown or unusable',
    hint: 'Add it to the settings, or correct it there. If messages were passed, `input` has them: none was accepted.',
  },
  ERR_SENDER_CLOSED: {
    kind: 'lifecycle',
    what: 'The sender is closed',
    hint: 'Send before `close`, or make a new sender; `input` has the messages.',
  },
  ERR_REPORTER_CLOSED: {
    kind: 'lifecycle',
    what: 'The reporter is closed',
    hint: 'Report before `close`, or make a new reporter; `onRejected` has the event.',
  },
  ERR_BEFORE_SEND_FAILED: {
    kind: 'caller',
    what: 'The `beforeSend` of the reporter threw',
    hint: 'See `cause`; the event was neither logged nor sent, and `onRejected` has it.',
  },
  ERR_QUEUE_FULL: {
    kind: 'environment',
    what: 'The queue is full',
    hint: 'No message was accepted: try again later, or raise the limit that `path` names.',
  },
  ERR_QUEUE_CLOSED: {
    kind: 'lifecycle',
    what: 'The queue is closed',
    hint: 'Use the queue between `open` and `close`; the call did nothing.',
  },
  ERR_QUEUE_FOREIGN: {
    kind: 'caller',
    what: 'The queue file belongs to another program',
    hint: 'Use another file; this one was not changed.',
  },
  ERR_QUEUE_FAILED: {
    kind: 'environment',
    what: 'The queue failed',
    hint: 'Do what the message says, or see `cause` and try again later. The call may have taken effect if only its answer was lost.',
  },
  ERR_TIMED_OUT: {
    kind: 'environment',
    what: 'The awaited condition did not happen in time',
    hint: 'See what the code under test did instead, or wait longer.',
  },
} as const satisfies Record<string, ErrorRow>;

/** All codes. A code is never renamed, and a removed one is never used again. */
export type SecurityEventErrorCode = keyof typeof ERROR_TABLE;

/** A fault in an input: its place, and what was expected and found there. */
export interface InputIssue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Keys of free-form JSON may be payload: long or unusual keys and deep paths are not shown. */
const SHOWN_KEY = /^[\w.-]{1,64}$/;
const MAX_SHOWN_KEYS = 12;

function pathText(path: readonly PropertyKey[]): string {
  const keys = path.map(String).map((key) => (SHOWN_KEY.test(key) ? key : '…'));
  const shown = keys.slice(0, MAX_SHOWN_KEYS).join('.');
  return keys.length > MAX_SHOWN_KEYS ? `${shown}.…` : shown;
}

function describe(issue: InputIssue | undefined): string | undefined {
  if (issue === undefined || issue.path.length === 0) return issue?.message;
  return `${pathText(issue.path)}: ${issue.message}`;
}

export interface ErrorDetails {
  /** Details for the message. Names only fields and rules. Default: the first issue. */
  readonly detail?: string;
  readonly path?: readonly PropertyKey[];
  readonly issues?: readonly InputIssue[];
  /** What the caller passed in. A getter of the error returns it; inspection and JSON do not show it. */
  readonly input?: unknown;
  readonly cause?: unknown;
}

/**
 * The only error class. Distinguish errors by `code`: unlike `instanceof`, it also works when two
 * copies of the package are installed.
 */
export class SecurityEventError extends Error {
  override readonly name = 'SecurityEventError';
  readonly code: SecurityEventErrorCode;
  readonly kind: ErrorKind;
  /** What to do about it. */
  readonly hint: string;
  /** Path of the faulty field or option from the root of the input; empty if there is none. */
  readonly path: readonly PropertyKey[];
  /** Everything that is wrong with an input or with options. `path` is that of the first issue. */
  readonly issues: readonly InputIssue[];
  readonly #detail: string | undefined;
  #input: unknown;

  constructor(code: SecurityEventErrorCode, details: ErrorDetails = {}) {
    const row: ErrorRow = ERROR_TABLE[code];
    const given = ownProperties(details);
    const { issues = [], path = issues[0]?.path ?? [] } = given;
    const text = given.detail ?? describe(issues[0]);
    const what = text === undefined ? row.what : `${row.what}: ${text}`;
    super(
      // "did you mean …?" is the advice.
      what.endsWith('?') ? what : `${what}. ${row.hint}`,
      'cause' in given ? { cause: given.cause } : undefined,
    );
    this.code = code;
    this.kind = row.kind;
    this.hint = row.hint;
    this.issues = issues;
    this.path = path;
    this.#detail = given.detail;
    this.#input = given.input;
  }

  /** What the caller passed in. Not enumerable: loggers that print the error do not print it. */
  get input(): unknown {
    return this.#input;
  }

  /**
   * Sets `input`, and returns this error. For a check that received only a part of the caller's input.
   * @internal
   */
  withInput(input: unknown): this {
    this.#input = input;
    return this;
  }

  /**
   * Returns a copy of this error for another caller, with other paths and without `input`.
   * @internal
   */
  copy(path = this.path, issues = this.issues, detail = this.#detail): SecurityEventError {
    return errorOf(this.code, {
      issues,
      path,
      ...(detail === undefined ? {} : { detail }),
      ...(Object.hasOwn(this, 'cause') ? { cause: this.cause } : {}),
    });
  }

  /**
   * Returns a copy of this error whose message names the file that was read.
   * @internal
   */
  ofFile(file: string): SecurityEventError {
    const detail = this.#detail ?? describe(this.issues[0]);
    return this.copy(this.path, this.issues, `${file}: ${detail}`);
  }
}

// Outside the class: the bundler renames a class that refers to itself in its own body.
const errorOf = (code: SecurityEventErrorCode, details: ErrorDetails): SecurityEventError =>
  new SecurityEventError(code, details);
