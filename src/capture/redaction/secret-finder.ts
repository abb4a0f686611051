/** Secrets inside a text, one pass for each kind. Every pass is linear in the text: see the shapes. */
import { cardNumbers } from './card-number.ts';
import { SECRET_SHAPES, type SecretShape } from './secret-shapes.ts';

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A kind of secret: where its secrets stand in a text, in their order and apart from each other. */
export type Finder = (text: string, isCut: boolean) => Iterable<Span>;

/** Where what began at `from` ends. Sticky expressions of one class never go back. */
function endFinder(rest: SecretShape['rest']): (text: string, from: number) => number {
  if (typeof rest === 'object') {
    return (text, from) => {
      const end = text.indexOf(rest.until, from);
      return end === -1 ? text.length : end;
    };
  }
  const sticky = new RegExp(`${rest}*`, 'y');
  return (text, from) => {
    sticky.lastIndex = from;
    return from + (sticky.exec(text)?.[0].length ?? 0);
  };
}

function shapeFinder({ start, rest, showsStart, isSecret }: SecretShape): Finder {
  const starts = new RegExp(start, 'g');
  const endOf = endFinder(rest);
  return function* find(text, isCut) {
    starts.lastIndex = 0;
    for (let match = starts.exec(text); match !== null; match = starts.exec(text)) {
      const from = match.index + match[0].length;
      const end = endOf(text, from);
      // What goes on behind the cut may be the rest of a secret.
      const isOpen = isCut && end === text.length;
      if (isOpen || isSecret(text.slice(from, end), text.charAt(end))) {
        yield { start: showsStart ? from : match.index, end };
      }
      starts.lastIndex = Math.max(end, from);
    }
  };
}

const MAX_KEY_LENGTH = 64;
const KEY_BEFORE_EQUALS = /[^\s=&?#;,"'<>{}()]*$/;
const VALUE_AFTER_EQUALS = '[^\\s&#;"\'<>]';

/** `password=…` in query strings, forms and cookies. */
function assignmentFinder(isSensitiveKey: (key: string) => boolean): Finder {
  const endOf = endFinder(VALUE_AFTER_EQUALS);
  return function* find(text) {
    let done = 0;
    for (let at = text.indexOf('='); at !== -1; at = text.indexOf('=', done)) {
      const before = text.slice(Math.max(done, at - MAX_KEY_LENGTH), at);
      const key = KEY_BEFORE_EQUALS.exec(before)?.[0] ?? '';
      const isSensitive = isSensitiveKey(decoded(key));
      done = isSensitive ? endOf(text, at + 1) : at + 1;
      if (done > at + 1) yield { start: at + 1, end: done };
    }
  };
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** `"password":"…"` in JSON that stands in a string, its quotes escaped or not. */
function memberFinder(isSensitiveKey: (key: string) => boolean): Finder {
  const endOfBare = endFinder('[^\\s,}\\]]');
  return function* find(text) {
    const colons = /\\?"[ \t]{0,8}:[ \t]{0,8}/g;
    for (let match = colons.exec(text); match !== null; match = colons.exec(text)) {
      const from = match.index + match[0].length;
      const before = text.slice(Math.max(0, match.index - MAX_KEY_LENGTH), match.index);
      if (!isSensitiveKey(before.slice(before.lastIndexOf('"') + 1))) continue;
      // An object or array: its own members are judged one by one.
      if ('{['.includes(text[from] ?? '{')) continue;
      const quote = match[0].startsWith('\\') ? '\\"' : '"';
      const isQuoted = text.startsWith(quote, from);
      const start = isQuoted ? from + quote.length : from;
      const end = isQuoted ? closing(text, quote, start) : endOfBare(text, start);
      if (end > start) yield { start, end };
      colons.lastIndex = Math.max(end, from);
    }
  };
}

/** Where the closing quote stands, or the end of the text. */
function closing(text: string, quote: string, from: number): number {
  let at = from;
  while (at < text.length && !text.startsWith(quote, at)) {
    at += quote === '"' && text[at] === '\\' ? 2 : 1;
  }
  return Math.min(at, text.length);
}

/**
 * The finders for a text, to be used in this order: each is shown the text as those before
 * have masked it. They hold no state between two texts.
 */
export function secretFinders(
  isSensitiveKey: (key: string) => boolean,
): (text: string) => readonly Finder[] {
  const others = [assignmentFinder(isSensitiveKey), memberFinder(isSensitiveKey), cardNumbers];
  const all = [...SECRET_SHAPES.map(shapeFinder), ...others];
  // Most texts have no beginning of any secret: one pass tells.
  const anyStart = new RegExp(SECRET_SHAPES.map(({ start }) => start).join('|'));
  return (text) => (anyStart.test(text) ? all : others);
}
