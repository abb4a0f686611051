/** Finds secret values by their name inside a text: in forms, JSON, GraphQL and XML. */
import { tryCall } from '../../runtime/host-calls.ts';
import { looksRandom, type NameVerdict } from './name-matcher.ts';
import { endFinder, type Find, type Finder } from './secret-shapes.ts';

type VerdictOf = (name: string) => NameVerdict;

type EndOf = (text: string, from: number) => number;

/** Maximum characters examined in the value of an ambiguous name, and before a name. Keeps the work linear. */
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

const MAX_NAME_LENGTH = 256;
const NAME_AT_END = /[^\s␍␊=&?#;:,"'<>{}()*/|\\!@+^`~]*$/;

/** Returns the name that ends at `at`, and begins at `from` or later. */
function nameBefore(text: string, at: number, from = 0): string {
  const before = text.slice(Math.max(from, at - MAX_NAME_LENGTH), at);
  return NAME_AT_END.exec(before)?.[0] ?? '';
}

/** Begins a pair anywhere in a text: in URLs, forms, elements of XML, JSON strings and headers. */
const PAIR_START = /(?:[&?#]|&amp;|<(?!script>)[\w:-]+>|(?<!=)"|(?<!set-)cookie:\s{0,8})$/i;

const LINE_BREAK = /[\r\n␍␊]/;

/** Precedes `set` in SQL (a `;`, or a table), but not the `set` of a Windows shell. */
const BEFORE_SQL_SET = /;[\s␍␊]*|(?:update|into)\s+\S+[\s␍␊]+(?:\S+[\s␍␊]+)?/;

/**
 * Begins a pair outside of SQL: the start of a line (also with a `/`, `export`, `set`, or Docker's `ENV` or `ARG`),
 * a `;`, or the end of a quoted value.
 */
const SEPARATOR = new RegExp(
  `(?:[\\r\\n␍␊][\\s␍␊]*(?:/|(?:export|env|arg|(?<!${BEFORE_SQL_SET.source})set)[ \\t]+)?|;\\s*|"\\s+)$`,
  'i',
);

/** The previous value of a list of pairs, and a separator: in cookies, lines and connection strings. */
const VALUE_AND_SEPARATOR = /^(?:[^\s'␍␊]*[;,\s␍␊]|'[^'␍␊]*'[;\s␍␊])[\s␍␊]*$/;

/** Text before a pair on its line: an SQL injection, an open string of SQL, or a header that sets cookies. */
const INJECTION = new RegExp(
  [
    /['")][\s+]*(?:--|(?:or|and|union|having)\b)|\d[\s+]+(?:or|and|union|having)\b/,
    /\bunion\s+(?:all\s+)?select\b|\bselect\b.{1,64}\bfrom\b|\bupdate\s+\S+\s+set\b/,
    /\b(?:insert\s+into|delete\s+from|exec)\b|\/\*.{0,64}\*\/|[(,]\s*'[^']*$|set-cookie:/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'i',
);

/** The end of a line of SQL that goes on in the next line: an operator, and perhaps comments. */
const OPEN_EXPRESSION =
  /(?:\b(?:or|and|xor|where|having|when|(?<!not )(?:set|not))|[(|]|&&|['")\d],)(?:[\s␍␊]|(?:--|#)[^\r\n␍␊]*[\r\n␍␊]|\/\*[^*]*\*\/)*$/i;

/** `password[$ne]=`, an injection into queries of MongoDB. */
const OPERATOR = /\[\$\w/;

/** `; token=$(cat /etc/shadow)`, an injection into a shell. */
const isCommand = (before: string, value: string): boolean =>
  /;\s*$/.test(before) && /^(?:\$\(|`)/.test(value);

interface Pair {
  readonly name: string;
  /** False for expressions, such as `or password=` in an SQL injection. */
  readonly isPair: boolean;
}

/** Returns a function that reads the pair with its `=` at `at`. `from`: the end of the pair before. */
function pairReader(text: string): (at: number, from: number) => Pair {
  /** Whether the previous `=` belongs to a pair, so that a separator begins the next pair. */
  let isList = false;
  let isInjection = false;
  return (at, from) => {
    const written = nameBefore(text, at, from);
    // The separator before a name may be percent-encoded, too.
    const decoded = written.includes('%')
      ? (tryCall(() => decodeURIComponent(written)) ?? written)
      : written;
    const name = nameBefore(decoded, decoded.length);
    const before =
      // A text begins like a line.
      (from === 0 ? '\n' : '') +
      text.slice(from, at - written.length) +
      decoded.slice(0, decoded.length - name.length);
    const line = before.split(LINE_BREAK).at(-1) ?? '';
    const linesBefore = before.slice(0, before.length - line.length);
    if (linesBefore !== '') isInjection = OPEN_EXPRESSION.test(linesBefore.slice(-JUDGED_LENGTH));
    isInjection ||= INJECTION.test(line);
    const end = before.slice(-JUDGED_LENGTH);
    isList =
      PAIR_START.test(end) ||
      (isList && VALUE_AND_SEPARATOR.test(before)) ||
      (!isInjection && SEPARATOR.test(end) && !isCommand(end, text.slice(at + 1, at + 3)));
    return { name, isPair: isList && !OPERATOR.test(name) };
  };
}

/** `password=…` in query strings, forms and cookies, and in a tag of XML or HTML. */
function assignments(verdictOf: VerdictOf): Find {
  const endOfBare = endFinder('[^\\s␍␊&#;"\'<>]');
  return function* find(text) {
    const pairAt = pairReader(text);
    let done = 0;
    for (let at = text.indexOf('='); at !== -1; at = text.indexOf('=', done)) {
      const { name, isPair } = pairAt(at, done);
      const verdict = name === '' ? 'harmless' : verdictOf(name);
      const isAttribute = verdict !== 'harmless' && isInTag(text, at);
      const [quote] = (isAttribute && QUOTE.exec(text.slice(at + 1, at + 3))) || [];
      const start = at + 1 + (quote?.length ?? 0);
      const value = { start, endOf: quote === undefined ? endOfBare : closing(quote) };
      const end = isPair || isAttribute ? secretEnd(verdict, text, value) : undefined;
      done = end ?? at + 1;
      if (end !== undefined) yield { start, end };
    }
  };
}

/** Escaped in a string of JSON. */
const QUOTE = /^\\?["']/;

const MAX_TAG_LENGTH = 256;

/** All words before the name are attributes with a value: SQL has others, as in `1<a or password='x'`. */
const TAG =
  /<[a-z][\w:-]*(?:[\s␉␊␍]+[\w:-]+=(?:\\?"[^"<]*"|'[^'<]*'|[^\s␉␊␍"'<>=]+))*[\s␉␊␍]+[\w:-]+$/i;

function isInTag(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - MAX_TAG_LENGTH), at);
  return TAG.test(before);
}

/** `"password":"…"` in JSON or Python, also escaped in a string, and `password: "…"` or `"""…"""` in GraphQL. */
function members(verdictOf: VerdictOf): Find {
  const endOfBare = endFinder('[^\\s,}\\]]');
  return function* find(text) {
    const colons = /(?:\\?(["'])|(?<=\w))[ \t]{0,8}:[ \t]{0,8}(?=("""|\\"\\"\\"|\\?["'])?)/g;
    for (let match = colons.exec(text); match !== null; match = colons.exec(text)) {
      const from = match.index + match[0].length;
      const [, nameQuote, quote] = match;
      // A bare name with a bare value is prose, or a part of a URL.
      if (nameQuote === undefined && quote === undefined) continue;
      // An object or array: its members are judged one by one.
      if ('{['.includes(text[from] ?? '{')) continue;
      const start = from + (quote?.length ?? 0);
      const before = text.slice(Math.max(0, match.index - MAX_NAME_LENGTH), match.index);
      const name =
        nameQuote === undefined
          ? nameBefore(before, before.length)
          : before.slice(before.lastIndexOf(nameQuote) + 1);
      const endOf = quote === undefined ? endOfBare : closing(quote);
      const end = secretEnd(verdictOf(name), text, { start, endOf });
      if (end !== undefined) yield { start, end };
      colons.lastIndex = end ?? from;
    }
  };
}

/** Returns the index of the closing quote, or the end of the text. Skips escaped quotes. */
function closing(quote: string): EndOf {
  const backslash = quote.startsWith('\\') ? '\\\\' : '\\';
  // A backslash itself cannot be escaped in GraphQL's `"""…"""`.
  const escapes = [backslash + quote, ...(quote.length > 2 ? [] : [backslash + backslash])];
  return (text, from) => {
    let at = from;
    while (at < text.length && !text.startsWith(quote, at)) {
      const escaped = text[at] === '\\' && escapes.find((it) => text.startsWith(it, at));
      at += escaped ? escaped.length : 1;
    }
    return at;
  };
}

/** `<password>…</password>` in XML, also with a prefix, attributes or a CDATA section. */
function elements(verdictOf: VerdictOf): Find {
  return function* find(text) {
    const tags = /<(?:[\w-]{1,32}:)?([\w-]{1,64})(?:\s[^<>]{0,256})?>(<!\[CDATA\[)?/g;
    for (let match = tags.exec(text); match !== null; match = tags.exec(text)) {
      const start = match.index + match[0].length;
      const endOf = endFinder({ until: match[2] === undefined ? '<' : ']]>' });
      const end = secretEnd(verdictOf(match[1] as string), text, { start, endOf });
      if (end !== undefined) yield { start, end };
      tags.lastIndex = end ?? start;
    }
  };
}

export const namedValueFinders = (verdictOf: VerdictOf): readonly Finder[] => [
  { applies: (text) => text.includes('='), finds: [assignments(verdictOf)] },
  { applies: (text) => /["']/.test(text), finds: [members(verdictOf)] },
  // The end of an element may be cut off.
  { applies: (text, isCut) => text.includes(isCut ? '<' : '</'), finds: [elements(verdictOf)] },
];
