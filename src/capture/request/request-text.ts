/** The texts of a request's head as the contract's `request` has them (D19). */

import { REDACTED, type Redactor } from '../redaction/redactor.ts';
import { cleanText, cutText } from './clean-text.ts';

/** In UTF-16 code units. */
const MAX_PATH_LENGTH = 2048;
const MAX_USER_AGENT_LENGTH = 512;

/** Looked at behind a cut: a secret that the cut halves must still be known for one. */
const SECRET_WINDOW = 1024;

/** Cleaned, at most `length` UTF-16 code units, and without secrets where a redactor is given. */
export function fittedText(text: string, length: number, redactor: Redactor | undefined): string {
  const seen = cutText(text, length + SECRET_WINDOW);
  const clean = cleanText(seen);
  return cutText(redactor?.maskText(clean, seen.length < text.length) ?? clean, length);
}

const SHORTEST_TOKEN = 16;

/** `http://shop.example` of a request to a proxy, as RFC 9112 3.2.2 has it. */
const ORIGIN = /^[a-z][a-z0-9+.-]{0,15}:\/\/[^/?#]*/i;

/**
 * The path of a request target, without its query (D19), the fragment that some clients send, and
 * the origin of the absolute form: `/a/b`, `*` for `OPTIONS *`, `/` where there is none, `""` without
 * a target. Percent-encoding stays as it was sent. At most 2048 UTF-16 code units.
 *
 * Segments that hold one of `secrets`, decoded, are redacted, and so are random-looking ones behind a
 * segment such as `token` or `verify-email`.
 */
export function pathOf(
  target: string | undefined,
  redactor?: Redactor,
  secrets: readonly string[] = [],
): string {
  if (target === undefined || target === '') return '';
  const local = target.replace(ORIGIN, '');
  const end = local.search(/[?#]/);
  const path = withoutSegments(end === -1 ? local : local.slice(0, end), secrets);
  const shown = redactor === undefined ? path : withoutTokens(path, redactor);
  return shown === '' ? '/' : fittedText(shown, MAX_PATH_LENGTH, redactor);
}

/** Segments times secrets: who may write both must not write too many of either. */
const MAX_SECRETS = 16;

function withoutSegments(path: string, secrets: readonly string[]): string {
  if (secrets.length === 0) return path;
  if (secrets.length > MAX_SECRETS) return `/${REDACTED}`;
  const redacted = (segment: string): string => {
    const texts = [segment, decoded(segment)];
    return texts.some((text) => secrets.some((secret) => text.includes(secret)))
      ? REDACTED
      : segment;
  };
  return path.split('/').map(redacted).join('/');
}

function withoutTokens(path: string, redactor: Redactor): string {
  if (path.length < SHORTEST_TOKEN) return path;
  // What is behind the limit is not shown.
  const segments = path.slice(0, MAX_PATH_LENGTH + SECRET_WINDOW).split('/');
  const isToken = (segment: string, index: number): boolean =>
    segment.length >= SHORTEST_TOKEN &&
    redactor.isSecretSegment(decoded(segments[index - 1] ?? ''), decoded(segment));
  if (!segments.some(isToken)) return path;
  return segments.map((segment, index) => (isToken(segment, index) ? REDACTED : segment)).join('/');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The text behind the first `?` of a request target, the fragment left out; `""` for none. */
export function queryTextOf(target: string | undefined): string {
  if (target === undefined) return '';
  const fragment = target.indexOf('#');
  const end = fragment === -1 ? target.length : fragment;
  const start = target.indexOf('?');
  return start === -1 ? '' : target.slice(start + 1, end);
}

/** At most 512 UTF-16 code units; `""` without a header (D19). */
export function userAgentOf(header: string | undefined, redactor?: Redactor): string {
  return fittedText(header ?? '', MAX_USER_AGENT_LENGTH, redactor);
}
