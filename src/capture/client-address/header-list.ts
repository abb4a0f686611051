/**
 * Reads comma-separated headers from the right, where the nearest proxy appends. Text further left may be
 * forged and must not change how an element is read, so elements are split lazily, and quotes are also
 * matched from the right.
 */

/** Maximum number of elements, counting empty ones. No request passes as many proxies. */
export const MAX_HOPS = 64;

/** Maximum length of an element. One of `Forwarded` has two nodes, a host name and a scheme. */
export const MAX_ELEMENT_CHARS = 1024;

/** Returns the index of the last comma before `end`, or -1 if there is none from `floor` on. */
type FindComma = (value: string, end: number, floor: number) => number;

/** A trimmed element, or why it was not read. */
export type ListElement = string | typeof TOO_LONG | typeof TOO_MANY;

export const TOO_LONG = Symbol('too long');
export const TOO_MANY = Symbol('too many');

/** Yields elements from the right, without empty ones (RFC 9110 section 5.6.1.2). */
export function* elementsFromRight(
  value: string,
  findComma: FindComma = plainComma,
): Generator<ListElement, void, void> {
  let end = value.length;
  for (let read = 0; read < MAX_HOPS; read += 1) {
    const floor = Math.max(0, end - MAX_ELEMENT_CHARS);
    const comma = findComma(value, end, floor);
    if (comma === -1 && floor > 0) {
      yield TOO_LONG;
      return;
    }
    const element = withoutBlanks(value, comma + 1, end);
    if (element !== '') yield element;
    if (comma === -1) return;
    end = comma;
  }
  yield TOO_MANY;
}

/**
 * Returns the element at a place from the right; 0 is the last. Returns the leftmost if the list is
 * shorter, since a proxy may replace the list instead of appending to it.
 */
export function elementFromRight(value: string, place: number): string | undefined {
  let found: string | undefined;
  let at = 0;
  for (const element of elementsFromRight(value)) {
    if (typeof element !== 'string') break;
    found = element;
    if (at === place) break;
    at += 1;
  }
  return found;
}

/** Trims spaces and tabs only (RFC 9110 section 5.6.3); `trim` would remove other characters, too. */
function withoutBlanks(value: string, start: number, end: number): string {
  let first = start;
  let last = end;
  while (first < last && isBlank(value.charCodeAt(first))) first += 1;
  while (first < last && isBlank(value.charCodeAt(last - 1))) last -= 1;
  return value.slice(first, last);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

function plainComma(value: string, end: number, floor: number): number {
  for (let at = end - 1; at >= floor; at -= 1) {
    if (value.charCodeAt(at) === COMMA) return at;
  }
  return -1;
}

/** Ignores commas in a quoted-string (RFC 9110 section 5.6.4). */
export function unquotedComma(value: string, end: number, floor: number): number {
  let isQuoted = false;
  for (let at = end - 1; at >= floor; at -= 1) {
    const code = value.charCodeAt(at);
    if (code === COMMA && !isQuoted) return at;
    // From the right the first quote closes; the next one opens unless a backslash escapes it.
    if (code === QUOTE && !(isQuoted && isEscaped(value, at, floor))) isQuoted = !isQuoted;
  }
  return -1;
}

function isEscaped(value: string, at: number, floor: number): boolean {
  let first = at;
  while (first > floor && value.charCodeAt(first - 1) === BACKSLASH) first -= 1;
  return (at - first) % 2 === 1;
}

const TAB = 0x09;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
