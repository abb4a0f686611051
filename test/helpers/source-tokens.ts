/**
 * A small tokeniser for TypeScript sources: enough to find imports and uses of names without being
 * fooled by comments, strings, templates and regular expressions. (TypeScript 7 offers no API.)
 */

export interface Token {
  /** A template without substitutions is a `string`; one with them is a `template` per text part. */
  readonly kind: 'word' | 'string' | 'template' | 'regex' | 'number' | 'punctuation';
  /** For strings the text between the quotes, as it stands in the source. */
  readonly text: string;
  readonly line: number;
}

/** After these words a slash starts a regular expression, not a division. */
const BEFORE_EXPRESSION = new Set(
  'return typeof case in of new delete void throw instanceof yield await else do'.split(' '),
);

const TRIVIA = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const REGEX = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;

const TOKENS: readonly (readonly [Token['kind'], RegExp])[] = [
  ['word', /[#@]?[\p{ID_Start}$_][\p{ID_Continue}$]*/uy],
  ['number', /\.?\d[\w.]*/y],
  ['string', /'(?:\\[\s\S]|[^'\\\n])*'|"(?:\\[\s\S]|[^"\\\n])*"/y],
  ['punctuation', /\.\.\.|=>|[^\s]/uy],
];

/** Template text up to the closing backtick or the next substitution. */
const TEMPLATE_TEXT = /(?:\\[\s\S]|\$(?!\{)|[^\\`$])*/y;

const matchAt = (pattern: RegExp, source: string, at: number): string => {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0] ?? '';
};

const startsExpression = (last: Token | undefined): boolean => {
  if (last === undefined) return true;
  if (last.kind === 'word') return BEFORE_EXPRESSION.has(last.text);
  return last.kind === 'punctuation' && !')]}'.includes(last.text);
};

export function tokenise(source: string): Token[] {
  const tokens: Token[] = [];
  /** Brace depth at each open `${`, innermost last. */
  const substitutions: number[] = [];
  let depth = 0;
  let at = 0;
  let line = 1;

  const take = (kind: Token['kind'] | undefined, matched: string, text = matched): void => {
    if (kind !== undefined) tokens.push({ kind, text, line });
    line += matched.split('\n').length - 1;
    at += matched.length;
  };

  const template = (opening: string): void => {
    take(undefined, opening);
    const text = matchAt(TEMPLATE_TEXT, source, at);
    const end = source.startsWith('${', at + text.length) ? '${' : '`';
    take(opening === '`' && end === '`' ? 'string' : 'template', text);
    take(undefined, end);
    if (end === '${') substitutions.push(depth);
  };

  const plain = (): void => {
    for (const [kind, pattern] of TOKENS) {
      const matched = matchAt(pattern, source, at);
      if (matched === '') continue;
      if (matched === '{') depth += 1;
      if (matched === '}') depth -= 1;
      take(kind, matched, kind === 'string' ? matched.slice(1, -1) : matched);
      return;
    }
  };

  while (at < source.length) {
    const trivia = matchAt(TRIVIA, source, at);
    const regex =
      source[at] === '/' && startsExpression(tokens.at(-1)) ? matchAt(REGEX, source, at) : '';
    if (trivia !== '') take(undefined, trivia);
    else if (regex !== '') take('regex', regex);
    else if (source[at] === '`') template('`');
    else if (source[at] === '}' && substitutions.at(-1) === depth) {
      substitutions.pop();
      template('}');
    } else plain();
  }
  return tokens;
}
