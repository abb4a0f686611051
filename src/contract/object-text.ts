/**
 * Objects of json-text.ts: strict ones, whose keys come out in the order of their shape.
 *
 * Two forms of the same reading. The generic one looks fields up by a changing key, which engines cannot
 * do quickly; the other is made for one shape, as zod makes its own: a whole record takes 5 instead of 8
 * microseconds. Where a process may not make code from strings the generic one serves.
 */
import type { TextOf } from './scalar-text.ts';
import { isOrdinary } from './text-of-json.ts';

export interface Field {
  readonly key: string;
  /** The key as JSON, and its colon. */
  readonly head: string;
  readonly text: TextOf;
  /** What is written where there is no value: nothing of the key, or its default; or it is refused. */
  readonly absent: string | undefined;
}

function genericObject(fields: readonly Field[]): TextOf {
  const keys = new Set(fields.map(({ key }) => key));
  return (value) => {
    if (typeof value !== 'object' || value === null || !isOrdinary(value)) return undefined;
    const input = value as Readonly<Record<string, unknown>>;
    let text = '';
    for (const { key, head, text: textOf, absent } of fields) {
      const given = input[key];
      if (given === undefined) {
        if (absent === undefined) return undefined;
        if (absent !== '') text += text === '' ? absent : `,${absent}`;
        continue;
      }
      const told = textOf(given);
      if (told === undefined) return undefined;
      text += text === '' ? head + told : `,${head}${told}`;
    }
    // Each by its name: their number would be right where one is hidden and another is unknown.
    for (const name in input) if (!keys.has(name)) return undefined;
    return `{${text}}`;
  };
}

const add = (text: string): string => `text += text === '' ? ${text} : ',' + ${text};`;

/** One field as statements. What stands in them is our own shape, as JSON: never a value. */
function statements({ key, head, absent }: Field, index: number): string {
  const name = JSON.stringify(key);
  const without =
    absent === undefined ? 'return undefined;' : absent && add(JSON.stringify(absent));
  return `
    given = value[${name}];
    if (given === undefined) { ${without} } else {
      told = texts[${index}](given);
      if (told === undefined) return undefined;
      ${add(`${JSON.stringify(head)} + told`)}
    }`;
}

function compiledObject(fields: readonly Field[]): TextOf {
  const body = `
  return function (value) {
    if (typeof value !== 'object' || value === null || !isOrdinary(value)) return undefined;
    let text = '', given, told;
    ${fields.map(statements).join('')}
    for (const name in value) {
      switch (name) {
        ${fields.map(({ key }) => `case ${JSON.stringify(key)}: continue;`).join(' ')}
        default: return undefined;
      }
    }
    return '{' + text + '}';
  };`;
  // oxlint-disable-next-line typescript/no-implied-eval, eslint/no-new-func -- from our own shapes alone
  const make = new Function('texts', 'isOrdinary', body);
  const texts = fields.map(({ text }) => text);
  return make(texts, isOrdinary) as TextOf;
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
