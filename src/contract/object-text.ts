/**
 * Objects of json-text.ts: strict ones, whose keys come out in the order of their shape.
 *
 * Two forms of the same reading. The generic one looks fields up by a changing key, which engines cannot
 * do quickly; the other is made for one shape, as zod makes its own: a whole record takes 5 instead of 8
 * microseconds. Where a process may not make code from strings the generic one serves.
 */
import type { KnownValues } from './known-values.ts';
import type { TextOf, Told } from './scalar-text.ts';
import { isOrdinary } from './text-of-json.ts';
import type { Telling } from './told.ts';

export interface Field {
  readonly key: string;
  readonly text: TextOf;
  /** Whether the text has to be put in quotes. */
  readonly isBare: boolean;
  /** What is written where there is no value: nothing of the key, or its default; or it is refused. */
  readonly absent: string | undefined;
  /** What is told of it besides. */
  readonly telling: Telling | undefined;
  /** Where it may have few values: their texts. */
  readonly known: KnownValues | undefined;
}

/** The key as JSON, and its colon. */
const headOf = ({ key }: Pick<Field, 'key'>): string => `${JSON.stringify(key)}:`;

function genericObject(fields: readonly Field[]): TextOf {
  const keys = new Set(fields.map(({ key }) => key));
  return (value, told) => {
    if (typeof value !== 'object' || value === null || !isOrdinary(value)) return undefined;
    const input = value as Readonly<Record<string, unknown>>;
    const texts: string[] = [];
    for (const field of fields) {
      const given = input[field.key];
      const text = given === undefined ? field.absent : textOfField(field, given, told);
      if (text === undefined) return undefined;
      if (text !== '') texts.push(headOf(field) + text);
    }
    // Each by its name: their number would be right where one is hidden and another is unknown.
    for (const name in input) if (!keys.has(name)) return undefined;
    return `{${texts.join(',')}}`;
  };
}

function textOfField(field: Field, given: unknown, told: Told | undefined): string | undefined {
  const { text: textOf, isBare, telling } = field;
  const found = textOf(given, told);
  const text = isBare && found !== undefined ? `"${found}"` : found;
  if (told !== undefined && telling !== undefined) {
    told[telling.as] = telling.what === 'json' ? text : (given as string);
  }
  return text;
}

/**
 * Fields that are those of the event before more often than not: their last string is kept with what was written for
 * it, since comparing takes a tenth of reading it anew. Of applications and kinds, never of a person.
 */
const REPEATED_KEYS: ReadonlySet<string> = new Set([
  'application_id',
  'application_name',
  'env',
  'environment',
  'event_category',
  'event_kind',
  'event_name',
  'event_version',
  'message_type',
  'name',
  'svc_id',
]);

/** Longer ones are not kept: whoever chooses one could have them compared for long. */
const MAX_KEPT_LENGTH = 40;

/** Of its own: a part of a string holds all of that for as long as it lives. What needs no escapes is its own JSON. */
const copyOf = (text: string): string => JSON.parse(`"${text}"`) as string;

/**
 * Statements that write the fields one after the other. What stands in them is our own shape, as JSON:
 * never a value. What is known to follow a field is put beside the next key, so that a field adds no
 * more than two pieces to the text.
 */
class Statements {
  readonly #lines: string[] = [];
  /** By the index of a field: what is written for each of its words. */
  readonly #words: (KnownValues | undefined)[] = [];
  /** Follows what is written, and is not yet. */
  #pending = '{';
  #hasField: boolean | 'perhaps' = false;

  add(field: Field, index: number): void {
    if (this.#addKnown(field, index)) return;
    if (!this.#addRepeated(field, index)) this.#addAny(field, index);
  }

  /** A field of few values is one piece of text, made beforehand for each of them. */
  #addKnown({ known, telling, absent, ...field }: Field, index: number): boolean {
    const mayBeFirst = absent === '' ? this.#hasField !== true : this.#hasField === 'perhaps';
    if (known === undefined || telling !== undefined || mayBeFirst) return false;
    const after = `${this.#pending}${this.#hasField === true ? ',' : ''}${headOf(field)}`;
    const pieces = new Map([...known].map(([value, json]) => [value, after + json]));
    if (absent !== undefined) pieces.set(undefined, absent === '' ? this.#pending : after + absent);
    this.#lines.push(
      `given = value[${JSON.stringify(field.key)}];`,
      `json = ${this.#pieceOf(pieces, index)};`,
      'if (json === undefined) return undefined;',
      'text = text + json;',
    );
    this.#pending = '';
    this.#hasField = true;
    return true;
  }

  /** Strings that are equal need not be the same in memory: a map knows them quicker than comparing does. */
  #pieceOf(pieces: KnownValues, index: number): string {
    const words = [...pieces].filter(([value]) => typeof value === 'string');
    if (words.length > 0) this.#words[index] = new Map(words);
    return [...pieces]
      .filter(([value]) => typeof value !== 'string')
      .map(([value, piece]) => `given === ${String(value)} ? ${JSON.stringify(piece)} : `)
      .concat(words.length > 0 ? `words[${index}].get(given)` : 'undefined')
      .join('');
  }

  /** A string that is due, of {@link REPEATED_KEYS}: with the last one given, and what was written for it. */
  #addRepeated(field: Field, index: number): boolean {
    const { key, isBare, absent, telling } = field;
    if (!REPEATED_KEYS.has(key) || !isBare || absent !== undefined) return false;
    if (telling?.what === 'json') return false;
    // What stands before it may not be the same each time: that is not kept.
    const isFirst = this.#hasField === 'perhaps' ? "(text === '{' ? '' : ',') + " : '';
    const before = isFirst === '' ? `${this.#pending}${this.#hasField === true ? ',' : ''}` : '';
    const head = JSON.stringify(`${before}${headOf(field)}"`);
    this.#lines.push(
      `given = value[${JSON.stringify(key)}];`,
      `if (given === kept[${index}]) {`,
      `json = written[${index}];`,
      tell(field),
      '} else {',
      ...read(field, index),
      `if (json === given && given.length <= ${MAX_KEPT_LENGTH}) {`,
      `json = ${head} + (kept[${index}] = copyOf(given));`,
      `written[${index}] = json;`,
      `} else json = ${head} + json;`,
      '}',
      `text = text + ${isFirst}json;`,
    );
    this.#pending = '"';
    this.#hasField = true;
    return true;
  }

  #addAny(field: Field, index: number): void {
    const { key, isBare, absent } = field;
    const isDue = absent === undefined;
    if (!isDue) this.#flush();
    const head = `${headOf(field)}${isBare ? '"' : ''}`;
    this.#lines.push(
      `given = value[${JSON.stringify(key)}];`,
      isDue ? 'if (given === undefined) return undefined;' : this.#without(field),
      isDue ? '' : 'if (given !== undefined) {',
      ...read(field, index),
      `text = text + ${this.#after(head)} + json;`,
    );
    this.#pending = isBare ? '"' : '';
    if (!isDue) this.#flush();
    if (!isDue) this.#lines.push('}');
    if (absent !== '') this.#hasField = true;
    else if (!this.#hasField) this.#hasField = 'perhaps';
  }

  end(): { readonly body: string; readonly words: readonly (KnownValues | undefined)[] } {
    const last = `text = text + ${JSON.stringify(`${this.#pending}}`)};`;
    return { body: [...this.#lines, last].join('\n'), words: this.#words };
  }

  #flush(): void {
    if (this.#pending !== '') this.#lines.push(`text += ${JSON.stringify(this.#pending)};`);
    this.#pending = '';
  }

  #without(field: Field): string {
    const { absent = '' } = field;
    if (absent === '') return '';
    return `if (given === undefined) text = text + ${this.#after(`${headOf(field)}${absent}`)};`;
  }

  /** What closes the field before, and `then`. */
  #after(then: string): string {
    if (this.#hasField === 'perhaps') return `(text === '{' ? '' : ',') + ${JSON.stringify(then)}`;
    return JSON.stringify(`${this.#pending}${this.#hasField ? ',' : ''}${then}`);
  }
}

function read(field: Field, index: number): readonly string[] {
  return [
    `json = texts[${index}](given, told);`,
    'if (json === undefined) return undefined;',
    tell(field),
  ];
}

const tell = ({ telling }: Field): string =>
  telling === undefined
    ? ''
    : `if (told !== undefined) told[${JSON.stringify(telling.as)}] = ${telling.what};`;

function compiledObject(fields: readonly Field[]): TextOf {
  const statements = new Statements();
  for (const [index, field] of fields.entries()) statements.add(field, index);
  const { body: statementsBody, words } = statements.end();
  // In parentheses the function is compiled with what gives it, and not once more when it is first called.
  const body = `
  return (function (value, told) {
    if (typeof value !== 'object' || value === null || !isOrdinary(value)) return undefined;
    let text = '', given, json;
    ${statementsBody}
    for (const name in value) {
      switch (name) {
        ${fields.map(({ key }) => `case ${JSON.stringify(key)}: continue;`).join(' ')}
        default: return undefined;
      }
    }
    return text;
  });`;
  // oxlint-disable-next-line typescript/no-implied-eval, eslint/no-new-func -- from our own shapes alone
  const make = new Function('texts', 'words', 'isOrdinary', 'copyOf', 'kept', 'written', body);
  const texts = fields.map(({ text }) => text);
  // What equals nothing: no value has been given yet.
  const kept: unknown[] = fields.map(() => Number.NaN);
  const written = fields.map(() => '');
  return make(texts, words, isOrdinary, copyOf, kept, written) as TextOf;
}

/** The quicker form where code may be made from strings, the generic one elsewhere. */
export function objectOf(fields: readonly Field[]): TextOf {
  try {
    return compiledObject(fields);
  } catch {
    // `--disallow-code-generation-from-strings`, or a host that has taken `Function` away.
    return genericObject(fields);
  }
}
