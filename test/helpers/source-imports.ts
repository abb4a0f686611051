/** What a source file imports, found in its tokens. */
import { type Token, tokenise } from './source-tokens.ts';

export interface ImportOf {
  /** `undefined` where the specifier is computed, which no rule can judge. */
  readonly specifier: string | undefined;
  /** Erased by the compiler: `import type …` and `export type … from`. */
  readonly typeOnly: boolean;
  readonly line: number;
}

const is = (token: Token | undefined, text: string): boolean =>
  token !== undefined &&
  token.text === text &&
  (token.kind === 'word' || token.kind === 'punctuation');

const isString = (token: Token | undefined): token is Token => token?.kind === 'string';

/** The specifier after `from`, when the statement that starts at `start` has one. */
function fromClause(tokens: readonly Token[], start: number): Token | undefined {
  for (let index = start + 1; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (is(token, 'from') && isString(tokens[index + 1])) return tokens[index + 1];
    // What may stand between the keyword and `from`: names, `*`, `{ a as b, "c" as d }`.
    const inClause =
      token?.kind === 'word' || token?.kind === 'string' || /^[*{},]$/.test(token?.text ?? '');
    if (!inClause || is(token, 'import') || is(token, 'export')) return undefined;
  }
  return undefined;
}

/** Calls that load a module: `import('x')`, `require('x')`, `getBuiltinModule('x')`. */
const LOADERS = ['import', 'require', 'getBuiltinModule'];

function statementAt(tokens: readonly Token[], index: number): ImportOf | undefined {
  const token = tokens[index] as Token;
  const next = tokens[index + 1];
  if (isString(next) && is(token, 'import')) {
    return { specifier: next.text, typeOnly: false, line: token.line };
  }
  const typeOnly = is(next, 'type') && !is(tokens[index + 2], 'from');
  const opens =
    is(token, 'import') || /^[*{]$/.test(tokens[index + (typeOnly ? 2 : 1)]?.text ?? '');
  const from = opens ? fromClause(tokens, index) : undefined;
  return from && { specifier: from.text, typeOnly, line: token.line };
}

function callAt(tokens: readonly Token[], index: number, ownLoader: boolean): ImportOf | undefined {
  const token = tokens[index] as Token;
  const argument = tokens[index + 2];
  if (!is(tokens[index + 1], '(') || is(tokens[index - 1], 'function')) return undefined;
  // `'name' as string` is the same name, of which the compiler reads no declarations.
  const isWidened = is(tokens[index + 3], 'as') && is(tokens[index + 4], 'string');
  const behind = tokens[index + (isWidened ? 5 : 3)];
  const single = isString(argument) && (is(behind, ')') || is(behind, ','));
  const specifier = single ? argument.text : undefined;
  const isMember = is(tokens[index - 1], '.');
  if (LOADERS.some((name) => is(token, name)) && (!isMember || is(token, 'getBuiltinModule'))) {
    return { specifier, typeOnly: false, line: token.line };
  }
  // `createRequire` gives a loader of any name: each call of one string there counts as an import.
  const mayLoad = ownLoader && single && !isMember && (token.kind === 'word' || is(token, ')'));
  return mayLoad ? { specifier, typeOnly: false, line: token.line } : undefined;
}

export function importsOf(source: string): ImportOf[] {
  const tokens = tokenise(source);
  const ownLoader = tokens.some((token) => is(token, 'createRequire'));
  return tokens.flatMap((token, index) => {
    const isStatement = (is(token, 'import') || is(token, 'export')) && !is(tokens[index - 1], '.');
    const found =
      (isStatement ? statementAt(tokens, index) : undefined) ?? callAt(tokens, index, ownLoader);
    return found ?? [];
  });
}
