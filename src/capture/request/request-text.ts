/** Path, query and user agent of a request for the contract's `request`. */
import { tryCall } from '../../runtime/host-calls.ts';
import { REDACTED, type Redactor } from '../redaction/redactor.ts';
import { cleanText, cutText } from './clean-text.ts';

/** In UTF-16 code units. */
const MAX_PATH_LENGTH = 2048;
const MAX_USER_AGENT_LENGTH = 512;

/** Characters that are read after a cut, to recognise a secret that the cut splits. */
const SECRET_WINDOW = 1024;

export interface FittedText {
  readonly text: string;
  /** Number of UTF-16 code units that were cut off. */
  readonly omitted: number;
}

/** Cleans and redacts a text, and cuts it to `length` UTF-16 code units. */
export function fitText(text: string, length: number, { maskText }: Redactor): FittedText {
  const seen = cutText(text, length + SECRET_WINDOW);
  const masked = maskText(cleanText(seen), seen.length < text.length);
  const kept = cutText(masked, length);
  return { text: kept, omitted: text.length - seen.length + masked.length - kept.length };
}

const SHORTEST_TOKEN = 16;

/** `http://shop.example` in the absolute form of a request target (RFC 9112 section 3.2.2). */
const ORIGIN = /^[a-z][a-z0-9+.-]{0,15}:\/\/[^/?#]*/i;

/**
 * Returns the path of a request target, without query, fragment and the origin of the absolute form:
 * `/a/b`, `*` for `OPTIONS *`, `/` if the path is empty, `""` without a target. Percent-encoding is kept.
 * At most 2048 UTF-16 code units.
 *
 * Redacts segments that contain one of `secrets`, also decoded, and random-looking ones after a segment
 * such as `token` or `verify-email`.
 */
export function pathOf(
  target: string | undefined,
  redactor: Redactor,
  secrets: readonly string[] = [],
): string {
  if (target === undefined || target === '') return '';
  const local = target.replace(ORIGIN, '');
  const end = local.search(/[?#]/);
  const path = redactSegments(end === -1 ? local : local.slice(0, end), secrets);
  if (path === '') return '/';
  return fitText(redactTokens(path, redactor), MAX_PATH_LENGTH, redactor).text;
}

/** Bounds the work, segments times secrets, since clients control both. */
const MAX_SECRETS = 16;

function redactSegments(path: string, secrets: readonly string[]): string {
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

function redactTokens(path: string, redactor: Redactor): string {
  if (path.length < SHORTEST_TOKEN) return path;
  // Text after the limit is not shown.
  const segments = path.slice(0, MAX_PATH_LENGTH + SECRET_WINDOW).split('/');
  const isToken = (segment: string, index: number): boolean =>
    segment.length >= SHORTEST_TOKEN &&
    redactor.isSecretSegment(decoded(segments[index - 1] ?? ''), decoded(segment));
  if (!segments.some(isToken)) return path;
  return segments.map((segment, index) => (isToken(segment, index) ? REDACTED : segment)).join('/');
}

const decoded = (segment: string): string => tryCall(() => decodeURIComponent(segment)) ?? segment;

/** Returns the text after the first `?` of a request target, without the fragment. */
export function queryTextOf(target: string | undefined): string {
  if (target === undefined) return '';
  const fragment = target.indexOf('#');
  const end = fragment === -1 ? target.length : fragment;
  const start = target.indexOf('?');
  return start === -1 ? '' : target.slice(start + 1, end);
}

/** Returns at most 512 UTF-16 code units; `""` without a header. */
export function userAgentOf(header: string | undefined, redactor: Redactor): string {
  return fitText(header ?? '', MAX_USER_AGENT_LENGTH, redactor).text;
}
