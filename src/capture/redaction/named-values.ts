/** Finds secret values by their name inside a text: in forms, JSON, GraphQL and XML. */
import { endFinder, type Find, type Finder } from './finder.ts';
import type { NameVerdict } from './name-matcher.ts';
import { looksRandom } from './random-looking.ts';

export type VerdictOf = (name: string) => NameVerdict;

type EndOf = (text: string, from: number) => number;

/** Values of ambiguous names are judged by this many characters, so that the work stays linear. */
const JUDGED_LENGTH = 128;

/** Returns the end of a secret value that begins at `start`, or undefined if it is harmless or empty. */
function secretEnd(verdict: NameVerdict, text: string, value: Value): number | undefined {
  const { start, endOf } = value;
  if (verdict === 'harmless') return undefined;
  if (verdict === 'ambiguous') {
    const seen = text.slice(start, start + JUDGED_LENGTH);
    if (!looksRandom(seen.slice(0, endOf(seen, 0)))) return undefined;
  }
  const end = endOf(text, start);
  return end > start ? end : undefined;
}

interface Value {
  readonly start: number;
  readonly endOf: EndOf;
}

const MAX_NAME_LENGTH = 64;
const NAME_AT_END = /[^\s=&?#;:,"'<>{}()*/|\\!@+^`~]*$/;

/** Returns the name that ends at `at`, and begins at `from` or later. */
function nameBefore(text: string, at: number, from = 0): string {
  const before = text.slice(Math.max(from, at - MAX_NAME_LENGTH), at);
  return NAME_AT_END.exec(before)?.[0] ?? '';
}

/** A name may be percent-encoded, together with the separator before it. */
function decoded(name: string): string {
  if (!name.includes('%')) return name;
  try {
    return NAME_AT_END.exec(decodeURIComponent(name))?.[0] ?? '';
  } catch {
    return name;
  }
}

/** `password=…` in query strings, forms and cookies, and `password="…"` in a tag of XML. */
function assignments(verdictOf: VerdictOf): Find {
  const endOfBare = endFinder('[^\\s&#;"\'<>]');
  return function* find(text) {
    let done = 0;
    for (let at = text.indexOf('='); at !== -1; at = text.indexOf('=', done)) {
      const name = decoded(nameBefore(text, at, done));
      const verdict = name === '' ? 'harmless' : verdictOf(name);
      const quote = text.charAt(at + 1);
      const isQuoted =
        verdict !== 'harmless' && (quote === '"' || quote === "'") && isInTag(text, at);
      const start = isQuoted ? at + 2 : at + 1;
      const end = secretEnd(verdict, text, { start, endOf: isQuoted ? closing(quote) : endOfBare });
      done = end ?? at + 1;
      if (end !== undefined) yield { start, end };
    }
  };
}

const MAX_TAG_LENGTH = 256;

function isInTag(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - MAX_TAG_LENGTH), at);
  return /<[A-Za-z][^<>]*$/.test(before);
}

/** `"password":"…"` in JSON inside a string, with or without escaped quotes, and `password: "…"` in GraphQL. */
function members(verdictOf: VerdictOf): Find {
  const endOfBare = endFinder('[^\\s,}\\]]');
  return function* find(text) {
    const colons = /(?:\\?"|(?<=\w))[ \t]{0,8}:[ \t]{0,8}(?=(\\?")?)/g;
    for (let match = colons.exec(text); match !== null; match = colons.exec(text)) {
      const from = match.index + match[0].length;
      const isBareName = !match[0].includes('"');
      const quote = match[1];
      // A bare name with a bare value is prose, or a part of a URL.
      if (isBareName && quote === undefined) continue;
      // An object or array: its members are judged one by one.
      if ('{['.includes(text[from] ?? '{')) continue;
      const start = from + (quote?.length ?? 0);
      const name = isBareName ? nameBefore(text, match.index) : quotedName(text, match.index);
      const endOf = quote === undefined ? endOfBare : closing(quote);
      const end = secretEnd(verdictOf(name), text, { start, endOf });
      if (end !== undefined) yield { start, end };
      colons.lastIndex = end ?? from;
    }
  };
}

function quotedName(text: string, at: number): string {
  const before = text.slice(Math.max(0, at - MAX_NAME_LENGTH), at);
  return before.slice(before.lastIndexOf('"') + 1);
}

/** Returns the index of the closing quote, or the end of the text. */
const closing =
  (quote: string): EndOf =>
  (text, from) => {
    let at = from;
    while (at < text.length && !text.startsWith(quote, at)) {
      at += quote === '"' && text[at] === '\\' ? 2 : 1;
    }
    return Math.min(at, text.length);
  };

const before =
  (mark: string): EndOf =>
  (text, from) => {
    const found = text.indexOf(mark, from);
    return found === -1 ? text.length : found;
  };

/** `<password>…</password>` in XML, also with a prefix, attributes or a CDATA section. */
function elements(verdictOf: VerdictOf): Find {
  return function* find(text) {
    const tags = /<(?:[\w-]{1,32}:)?([\w-]{1,64})(?:\s[^<>]{0,256})?>(<!\[CDATA\[)?/g;
    for (let match = tags.exec(text); match !== null; match = tags.exec(text)) {
      const start = match.index + match[0].length;
      const endOf = before(match[2] === undefined ? '<' : ']]>');
      const end = secretEnd(verdictOf(match[1] as string), text, { start, endOf });
      if (end !== undefined) yield { start, end };
      tags.lastIndex = end ?? start;
    }
  };
}

export const namedValueFinders = (verdictOf: VerdictOf): readonly Finder[] => [
  { applies: (text) => text.includes('='), finds: [assignments(verdictOf)] },
  { applies: (text) => text.includes('"'), finds: [members(verdictOf)] },
  { applies: (text) => text.includes('</'), finds: [elements(verdictOf)] },
];
