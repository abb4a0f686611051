/** The hops that X-Forwarded-For and its kind, or RFC 7239's Forwarded, tell of: nearest first. */
import { normaliseAddress } from '../../address/normalise.ts';
import { readPort } from '../request/request-like.ts';
import {
  elementsFromRight,
  type ListElement,
  TOO_LONG,
  type TOO_MANY,
  unquotedComma,
} from './header-list.ts';

/**
 * Why no address was read:
 * - `unknown`: the proxy wrote `unknown` (RFC 7239 6.2)
 * - `obfuscated`: it wrote an identifier such as `_hidden` (RFC 7239 6.3)
 * - `no-for`: an element of `Forwarded` without `for`
 * - `malformed`: an element of `Forwarded` outside its grammar, or with a parameter twice
 * - `not-an-address`: anything else that `net.isIP` refuses: octal, hex and short forms, host names
 * - `too-long`: more than 1024 characters
 * - `too-many`: behind the 64th element, empty ones counted
 */
export type Refusal =
  | 'unknown'
  | 'obfuscated'
  | 'no-for'
  | 'malformed'
  | 'not-an-address'
  | 'too-long'
  | 'too-many';

/** One element: an address in D14's spelling, with its port if it names one, or a refusal. */
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
 * Hops from the nearest proxy's on, each read when it is asked for; nothing follows a refusal that
 * is due to length. `header` is the name that `value` is of: `forwarded`, or one that lists addresses.
 */
export function* forwardedHops(header: string, value: string): Generator<ForwardedHop, void, void> {
  if (header === 'forwarded') {
    for (const element of elementsFromRight(value, unquotedComma)) yield readElement(element);
  } else {
    for (const token of elementsFromRight(value)) yield readToken(token);
  }
}

function readToken(token: ListElement): ForwardedHop {
  if (typeof token !== 'string') return unread(token);
  return readNode(token.replace(SURROUNDING_QUOTES, '$1'), token);
}

function readElement(element: ListElement): ForwardedHop {
  if (typeof element !== 'string') return unread(element);
  const parameters = readForwardedElement(element);
  if (parameters === undefined) return refused(element, 'malformed');
  const node = parameters.get('for');
  if (node === undefined) return refused(element, 'no-for');
  return readNode(node, element);
}

function unread(element: typeof TOO_LONG | typeof TOO_MANY): ForwardedHop {
  return refused('', element === TOO_LONG ? 'too-long' : 'too-many');
}

const SURROUNDING_QUOTES = /^"(.*)"$/;
const UNKNOWN = /^unknown(?::|$)/i;
/** RFC 7239 6: brackets are for IPv6 alone; a port may be obfuscated as well. */
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

/** RFC 7239 4, but for values without quotes that need them: proxies write `for=[2001:db8::1]`. */
const PAIR = /[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=(?:"((?:[^"\\]|\\.)*)"|([^",; \t]+))[ \t]*)?(;|$)/y;

/**
 * Parameters by lower-case name, quotes taken off. `undefined` outside the grammar, and where a
 * parameter occurs twice: which of the two is meant is not to be known.
 */
export function readForwardedElement(element: string): ReadonlyMap<string, string> | undefined {
  const parameters = new Map<string, string>();
  // A regular expression of its own: a shared one would keep its place between calls.
  const pair = new RegExp(PAIR);
  while (pair.lastIndex < element.length) {
    const match = pair.exec(element);
    if (match === null) return undefined;
    const [, name, quoted, plain] = match;
    if (name === undefined) continue;
    const key = name.toLowerCase();
    if (parameters.has(key)) return undefined;
    parameters.set(key, plain ?? unescaped(quoted as string));
  }
  return parameters;
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, '$1');
}
