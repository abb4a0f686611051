/** How streams, buckets and subjects are called. */
import type { Format } from '../queue.ts';

export interface Names {
  /** The stream of what waits. */
  readonly messages: string;
  readonly dead: string;
  /** The bucket's stream of the applications' rows. */
  readonly rows: string;
  readonly incidents: string;
  readonly rowsBucket: string;
  readonly incidentsBucket: string;
  readonly messageSubjects: string;
  readonly deadSubjects: string;
  readonly message: (format: Format, token: string) => string;
  /** In both formats. */
  readonly messagesOf: (token: string) => string;
  readonly letter: (token: string, sequence: number | string) => string;
  readonly lettersOf: (token: string) => string;
  readonly row: (token: string) => string;
  readonly rowSubjects: string;
  /** Written to learn the server's time. */
  readonly time: (handle: string) => string;
}

export function namesOf(prefix: string): Names {
  const rowsBucket = `${prefix}-rows`;
  const incidentsBucket = `${prefix}-incidents`;
  const rowSubject = `$KV.${rowsBucket}`;
  return {
    messages: `${prefix}-messages`,
    dead: `${prefix}-dead`,
    rows: `KV_${rowsBucket}`,
    incidents: `KV_${incidentsBucket}`,
    rowsBucket,
    incidentsBucket,
    messageSubjects: `${prefix}.m.>`,
    deadSubjects: `${prefix}.d.>`,
    message: (format, token) => `${prefix}.m.${format}.${token}`,
    messagesOf: (token) => `${prefix}.m.*.${token}`,
    letter: (token, sequence) => `${prefix}.d.${token}.${sequence}`,
    lettersOf: (token) => `${prefix}.d.${token}.*`,
    row: (token) => `${rowSubject}.a.${token}`,
    rowSubjects: `${rowSubject}.a.*`,
    time: (handle) => `${rowSubject}.t.${handle}`,
  };
}

/** Of the empty id, which would be no token. */
const EMPTY = '-';

/**
 * An id as a token of a subject, which may hold neither `.`, `*`, `>` nor a space; as it stands
 * within the quotes of a JSON string, since ids may hold half a surrogate pair.
 */
export const tokenOf = (applicationId: string): string =>
  applicationId === ''
    ? EMPTY
    : Buffer.from(JSON.stringify(applicationId).slice(1, -1)).toString('base64url');

export const applicationIdOf = (token: string): string =>
  token === EMPTY ? '' : (JSON.parse(`"${Buffer.from(token, 'base64url').toString()}"`) as string);

/** Whether it stands for an application: others may put what they like under these subjects. */
export function isToken(token: string): boolean {
  try {
    return tokenOf(applicationIdOf(token)) === token;
  } catch {
    return false;
  }
}

/** The token in a subject of messages or rows, where it is the last one. */
export const lastToken = (subject: string): string => subject.slice(subject.lastIndexOf('.') + 1);
