/** Reads the hops in X-Forwarded-For and similar headers, or in Forwarded (RFC 7239): nearest first. */
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
 * - `unknown`: the proxy wrote `unknown` (RFC 7239 section 6.2)
 * - `obfuscated`: it wrote an identifier such as `_hidden` (RFC 7239 section 6.3)
 * - `no-for`: an element of `Forwarded` without `for`
 * - `malformed`: an element of `Forwarded` outside its grammar, or with a parameter twice
 * - `not-an-address`: anything else that `net.isIP` refuses: octal, hex and short forms, host names
 * - `too-long`: more than 1024 characters
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
 * Yields hops lazily from the nearest proxy's on; ends after a refusal because of length. `header` is
 * the name of the header: `forwarded`, or one that lists addresses.
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
    parameters.set(key, plain ?? unescaped(quoted as string));
  }
  return parameters;
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, '$1');
}
