/** One element of a `Forwarded` header: what one proxy says of the request it received. */

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
