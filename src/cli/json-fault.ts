/**
 * Where a text stops being JSON, and what JSON would have there. `JSON.parse` is not asked: what it says
 * differs from one Node to the next and quotes the text, which may be a payload.
 */

export interface JsonFault {
  /** In characters of the text (UTF-16 units), from 0. */
  readonly at: number;
  readonly expected: string;
  readonly found: string;
}

type State = 'value' | 'first-element' | 'key' | 'first-key' | 'colon' | 'separator';

const EXPECTED: Readonly<Record<State, (closing: string) => string>> = {
  value: () => 'a value',
  'first-element': () => 'a value or `]`',
  key: () => 'a key in quotation marks',
  'first-key': () => 'a key in quotation marks or `}`',
  colon: () => '`:`',
  separator: (closing) => (closing === '' ? 'the end' : `\`,\` or \`${closing}\``),
};

const SPACES = /[ \t\r\n]*/y;
const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;
/** Of a string, up to what needs a closer look. One character after the other: no long text is too long. */
const PLAIN = /[ !#-[\]-\uffff]*/y;
const ESCAPED = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** The one fault of `text` that comes first; undefined where it is JSON. */
export function findJsonFault(text: string): JsonFault | undefined {
  return new Reader(text).read();
}

class Reader {
  readonly #text: string;
  #at = 0;
  #state: State = 'value';
  /** What closes the containers that are open, the innermost last. */
  readonly #closings: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  read(): JsonFault | undefined {
    for (;;) {
      this.#skip(SPACES);
      const closing = this.#closings.at(-1) ?? '';
      if (this.#at === this.#text.length && this.#state === 'separator' && closing === '') {
        return undefined;
      }
      const fault = this.#readToken(this.#text[this.#at] ?? '', closing);
      if (fault !== undefined) return { at: this.#at, expected: fault, found: this.#found() };
    }
  }

  /** Goes on behind the token, or gives what was expected in its place. */
  #readToken(sign: string, closing: string): string | undefined {
    const isRead =
      this.#state === 'colon' || this.#state === 'separator'
        ? this.#readSeparator(sign, closing)
        : this.#readClosing(sign, closing) || this.#readContainer(sign) || this.#readScalar();
    if (isRead) return undefined;
    const canBeString = this.#state !== 'colon' && this.#state !== 'separator';
    if (sign === '"' && canBeString) return this.#readString();
    return EXPECTED[this.#state](closing);
  }

  #readSeparator(sign: string, closing: string): boolean {
    if (this.#state === 'colon') return sign === ':' && this.#go('value');
    if (closing === '') return false;
    if (sign === ',') return this.#go(closing === '}' ? 'key' : 'value');
    return this.#close(sign, closing);
  }

  #readClosing(sign: string, closing: string): boolean {
    const canClose = this.#state === 'first-element' || this.#state === 'first-key';
    return canClose && this.#close(sign, closing);
  }

  #close(sign: string, closing: string): boolean {
    if (sign !== closing) return false;
    this.#closings.pop();
    return this.#go('separator');
  }

  #readContainer(sign: string): boolean {
    if (this.#isKeyNext() || (sign !== '{' && sign !== '[')) return false;
    this.#closings.push(sign === '{' ? '}' : ']');
    return this.#go(sign === '{' ? 'first-key' : 'first-element');
  }

  #readScalar(): boolean {
    if (this.#isKeyNext() || !this.#skip(SCALAR)) return false;
    this.#state = 'separator';
    return true;
  }

  /** Gives what was expected within the string. */
  #readString(): string | undefined {
    const start = this.#at;
    this.#at += 1;
    do this.#skip(PLAIN);
    while (this.#skip(ESCAPED));
    const sign = this.#text[this.#at];
    if (sign === '"') {
      this.#go(this.#isKeyNext() ? 'colon' : 'separator');
      return undefined;
    }
    if (sign === '\\') return 'an escape of JSON';
    if (sign !== undefined && sign !== '\n') return 'an escape in place of a control character';
    return `the quotation mark that closes the string of character ${start + 1}`;
  }

  #isKeyNext(): boolean {
    return this.#state === 'key' || this.#state === 'first-key';
  }

  #go(next: State): true {
    this.#at += 1;
    this.#state = next;
    return true;
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    const length = pattern.exec(this.#text)?.[0].length ?? 0;
    this.#at += length;
    return length > 0;
  }

  /** Signs of JSON are shown; all else may be payload. */
  #found(): string {
    const sign = this.#text[this.#at];
    if (sign === undefined) return 'the end';
    if (sign === '\n' || sign === '\r') return 'the end of the line';
    return /[{}[\],:"'\\]/.test(sign) ? `\`${sign}\`` : 'other text';
  }
}
