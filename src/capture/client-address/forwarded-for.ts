/**
 * Reads the hops in X-Forwarded-For and similar headers, or in Forwarded (RFC 7239): nearest first. Text
 * further left may be forged and must not change how an element is read, so elements are split lazily
 * from the right, where the nearest proxy appends, and quotes are also matched from the right.
 */
import { normaliseAddress } from '../../address/normalise.ts';
import { readPort } from '../request/request-like.ts';

/** Maximum number of elements, counting empty ones. No request passes as many proxies. */
export const MAX_HOPS = 64;

/** Maximum length of an element. In `Forwarded` it has up to two addresses (`for`, `by`), a host and a scheme. */
const MAX_ELEMENT_CHARS = 1024;

/**
 * Why no address was read:
 * - `unknown`: the proxy wrote `unknown` (RFC 7239 section 6.2)
 * - `obfuscated`: it wrote an identifier such as `_hidden` (RFC 7239 section 6.3)
 * - `no-for`: an element of `Forwarded` without `for`
 * - `malformed`: an element of `Forwarded` outside its grammar, or with a parameter twice
 * - `not-an-address`: anything else that `net.isIP` refuses: octal, hex and short forms, host names
 * - `too-long`: more than 1024 characters with the comma and blanks before it
 * - `too-many`: after the 64th element, counting empty ones
 */
export type Refusal =
  | 'unknown'
  | 'obfuscated'
  | 'no-for'
  | 'malformed'
  | 'not-an-address'
  | 'too-long'
  | 'too-many';

/** One element: a normalised address, with its port if there is one, or a refusal. */
export interface ForwardedHop {
  readonly token: string;
  readonly address: string | undefined;
  readonly port: number | undefined;
  readonly refusal: Refusal | undefined;
}

const refused = (token: string, refusal: Refusal): ForwardedHop => ({
  token,
  address: undefined,
  port: undefined,
  refusal,
});

/**
 * Yields hops lazily, the nearest proxy's first. Ends after `too-long` or `too-many`. `header` is
 * the name of the header: `forwarded`, or one that lists addresses.
 */
export function* forwardedHops(header: string, value: string): Generator<ForwardedHop, void, void> {
  const isForwarded = header === 'forwarded';
  for (const element of elementsFromRight(value, isForwarded)) {
    if (typeof element !== 'string') yield refused('', element.refusal);
    else if (isForwarded) yield readElement(element);
    else yield readNode(element.replace(SURROUNDING_QUOTES, '$1'), element);
  }
}

/**
 * Returns the element at a place from the right; 0 is the last. Returns the leftmost if the list is
 * shorter, since a proxy may replace the list instead of appending to it.
 */
export function elementFromRight(value: string, place: number): string | undefined {
  const elements = [...elementsFromRight(value, false)].filter((it) => typeof it === 'string');
  return elements.slice(0, place + 1).at(-1);
}

/** Yields elements from the right, without empty ones (RFC 9110 section 5.6.1.2), or why one was not read. */
function* elementsFromRight(
  value: string,
  hasQuotes: boolean,
): Generator<string | { readonly refusal: 'too-long' | 'too-many' }, void, void> {
  let end = value.length;
  for (let read = 0; read < MAX_HOPS; read += 1) {
    const floor = Math.max(0, end - MAX_ELEMENT_CHARS);
    const comma = lastComma(value.slice(floor, end), hasQuotes);
    if (comma === -1 && floor > 0) {
      yield { refusal: 'too-long' };
      return;
    }
    const element = withoutBlanks(value.slice(floor + comma + 1, end));
    if (element !== '') yield element;
    if (comma === -1) return;
    end = floor + comma;
  }
  yield { refusal: 'too-many' };
}

/** Trims spaces and tabs only (RFC 9110 section 5.6.3); `trim` would remove other characters, too. */
function withoutBlanks(text: string): string {
  const isBlank = (at: number): boolean => text[at] === ' ' || text[at] === '\t';
  let [first, end] = [0, text.length];
  while (isBlank(first)) first += 1;
  while (end > first && isBlank(end - 1)) end -= 1;
  return text.slice(first, end);
}

/** Returns the index of the last comma, or -1. Ignores those in a quoted-string (RFC 9110 section 5.6.4). */
function lastComma(text: string, hasQuotes: boolean): number {
  if (!hasQuotes) return text.lastIndexOf(',');
  let isQuoted = false;
  for (let at = text.length - 1; at >= 0; at -= 1) {
    if (text[at] === ',' && !isQuoted) return at;
    // From the right the first quote closes; the next one opens unless a backslash escapes it.
    if (text[at] === '"' && !(isQuoted && isEscaped(text, at))) isQuoted = !isQuoted;
  }
  return -1;
}

function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first -= 1;
  return (at - first) % 2 === 1;
}

function readElement(element: string): ForwardedHop {
  const parameters = readForwardedElement(element);
  if (parameters === undefined) return refused(element, 'malformed');
  const node = parameters.get('for');
  return node === undefined ? refused(element, 'no-for') : readNode(node, element);
}

const SURROUNDING_QUOTES = /^"(.*)"$/;
const UNKNOWN = /^unknown(?::|$)/i;
/** RFC 7239 section 6: only IPv6 has brackets; a port may be obfuscated. */
const IPV6_IN_BRACKETS = /^\[([^\]:]*:[^\]]*)\](?::(\d{1,5}|_[\w.-]+))?$/;
const IPV4_WITH_PORT = /^([\d.]+):(\d{1,5}|_[\w.-]+)$/;

function readNode(node: string, token: string): ForwardedHop {
  if (UNKNOWN.test(node)) return refused(token, 'unknown');
  if (node.startsWith('_')) return refused(token, 'obfuscated');
  const [, text = node, portText = ''] =
    IPV6_IN_BRACKETS.exec(node) ?? IPV4_WITH_PORT.exec(node) ?? [];
  const address = normaliseAddress(text);
  if (address === undefined) return refused(token, 'not-an-address');
  return { token, address, port: readPort(portText), refusal: undefined };
}

/** RFC 7239 section 4, but also accepts values without the required quotes: proxies write `for=[2001:db8::1]`. */
const PAIR = /[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^",; \t]+))[ \t]*)?(;|$)/y;

/**
 * Returns the parameters by lower-case name, without quotes. Returns `undefined` for text outside the
 * grammar, and for a parameter that occurs twice, which is ambiguous.
 */
export function readForwardedElement(element: string): ReadonlyMap<string, string> | undefined {
  const parameters = new Map<string, string>();
  // A new one for each call: `lastIndex` is state.
  const pair = new RegExp(PAIR);
  while (pair.lastIndex < element.length) {
    const match = pair.exec(element);
    if (match === null) return undefined;
    const [, name, quoted, plain] = match;
    if (name === undefined) continue;
    const key = name.toLowerCase();
    if (parameters.has(key)) return undefined;
    parameters.set(key, plain ?? (quoted as string).replace(/\\(.)/g, '$1'));
  }
  return parameters;
}
