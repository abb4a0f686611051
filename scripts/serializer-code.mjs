/**
 * Generates functions from zod schemas that validate a value and serialise it in one pass. They return
 * undefined for unexpected values and unsupported schemas.
 */
import { GeneratedFile } from './serializer-file.mjs';
import {
  camelCase,
  capitalised,
  captureLine,
  checksOf,
  defOf,
  discriminatorOf,
  hasPlainCharacters,
  isNever,
  joined,
  nameOfWord,
  quoted,
  unwrapped,
  variableOf,
} from './serializer-pieces.mjs';

const never = 'undefined';

/** String formats that are fully described by their pattern. */
const PATTERN_FORMATS = ['cidrv4', 'ipv4', 'regex'];

export class SerializerCode {
  #file = new GeneratedFile();
  #quote;
  #ipv6Pattern;
  /** Fields to capture besides the JSON: see `captures` of {@link serializer}. */
  #captures = {};

  constructor({ ipv6Pattern }) {
    this.#ipv6Pattern = ipv6Pattern;
  }

  /** Returns the imports and declarations as text. */
  text(options) {
    return this.#file.text(options);
  }

  /**
   * Returns the name of the function for `schema`. `quote` serialises its strings. `captures` maps the path of a
   * field to the property of the second argument that receives it: `{ name, what: 'value' | 'text' }`.
   */
  serializer(schema, name, { quote, captures = {} }) {
    this.#quote = quote;
    this.#captures = captures;
    return this.#functionOf(schema, name, '').name;
  }

  /** Returns an expression for the JSON of `value`, which is an expression without side effects. */
  #expression(schema, value, name, path) {
    const def = defOf(schema);
    switch (def.type) {
      case 'string':
        return this.#string(def, value, name);
      case 'template_literal':
        return this.#matching([schema._zod.pattern], value, { name });
      case 'number':
        return this.#number(def, value);
      case 'boolean':
        return `${this.#file.import('booleanText')}(${value})`;
      case 'null':
        return `${value} === null ? 'null' : undefined`;
      case 'enum':
      case 'literal':
        return this.#words(schema, value, name);
      case 'nullable':
        return `${value} === null ? 'null' : ${this.#expression(def.innerType, value, name, path)}`;
      case 'pipe':
        return this.#freeForm(def, value);
      case 'array': {
        const { name: element, takesCaptured } = this.#functionOf(def.element, name, path);
        if (def.checks?.length > 0 || takesCaptured) return never;
        return `${this.#file.import('arrayText')}(${value}, ${element})`;
      }
      default: {
        const { name: call, takesCaptured } = this.#functionOf(schema, name, path);
        return call === never ? never : `${call}(${value}${takesCaptured ? ', captured' : ''})`;
      }
    }
  }

  #string(def, value, name) {
    const patterns = [];
    let minimum = 0;
    for (const { check, format, pattern, minimum: least } of checksOf(def)) {
      if (check === 'min_length') minimum = least;
      else if (format === 'ipv6') patterns.push(new RegExp(this.#ipv6Pattern));
      else if (PATTERN_FORMATS.includes(format) && pattern) patterns.push(pattern);
      else return never;
    }
    return this.#matching(patterns, value, { minimum, name });
  }

  #matching(patterns, value, { minimum = 0, name }) {
    const constant = (pattern) => this.#file.constant(name.toUpperCase(), pattern);
    const tests = patterns.map((pattern) => `${constant(pattern)}.test(${value})`);
    const isLong = minimum === 0 ? [] : [`${value}.length >= ${minimum}`];
    const quote = this.#file.import(this.#quote);
    if (isLong.length + tests.length === 0)
      return `${this.#file.import('stringText')}(${value}, ${quote})`;
    const [pattern, ...others] = patterns;
    if (isLong.length + others.length === 0 && hasPlainCharacters(pattern)) {
      return `${this.#file.import('plainText')}(${value}, ${constant(pattern)})`;
    }
    if (isLong.length + others.length === 0) {
      return `${this.#file.import('matchingText')}(${value}, ${constant(pattern)}, ${quote})`;
    }
    const isFit = [`typeof ${value} === 'string'`, ...isLong, ...tests].join(' && ');
    return `${isFit} ? ${quote}(${value}) : undefined`;
  }

  #number(def, value) {
    let [min, max, isInteger] = ['Number.NEGATIVE_INFINITY', 'Number.POSITIVE_INFINITY', false];
    for (const { check, format, value: bound, inclusive } of checksOf(def)) {
      if (check === 'number_format' && format === 'safeint') isInteger = true;
      else if (check === 'greater_than' && inclusive) min = bound;
      else if (check === 'less_than' && inclusive) max = bound;
      else return never;
    }
    const between = this.#file.import(isInteger ? 'integerBetween' : 'numberBetween');
    return `${between}(${value}, ${min}, ${max})`;
  }

  /** One of a few values, each with its JSON. */
  #words(schema, value, name) {
    const words = [...schema._zod.values];
    if (words.length === 1) {
      const [word] = words.map((one) => JSON.stringify(one));
      return `${value} === ${word} ? ${quoted(word)} : undefined`;
    }
    const table = `wordTexts([${words.map((word) => JSON.stringify(word)).join(', ')}])`;
    this.#file.import('wordTexts');
    return `${this.#file.constant(name.toUpperCase(), table)}.get(${value})`;
  }

  #freeForm({ freeForm }, value) {
    if (freeForm === undefined) return never;
    return `${this.#file.import(freeForm.serializer)}(${value}, ${this.#file.import(this.#quote)})`;
  }

  /** Returns a function for `schema`. Reuses one with the same code. */
  #functionOf(schema, name, path, wordKey) {
    const { body, takesCaptured, takesWord } = this.#body(schema, name, path, wordKey);
    if (body === undefined) return { name: never, takesCaptured: false };
    return this.#file.functionOf(body, { name, takesCaptured, takesWord });
  }

  #body(schema, name, path, wordKey) {
    const def = defOf(schema);
    switch (def.type) {
      case 'lazy':
        return this.#body(def.getter(), name, path);
      case 'object':
        return this.#object(schema, name, path, wordKey);
      case 'tuple':
        return this.#tuple(def, name, path);
      case 'union':
        return this.#union(def, name, path);
      default:
        return {
          body: `return ${this.#expression(schema, 'value', name, path)};`,
          takesCaptured: false,
        };
    }
  }

  /** Supports only strict objects: others keep unknown keys. `wordKey` is a key that the caller has read. */
  #object({ _zod: { def } }, name, path, wordKey) {
    const { shape, catchall, checks = [] } = def;
    if (catchall === undefined || defOf(catchall).type !== 'never' || checks.length > 0) return {};
    const keys = Object.keys(shape);
    const fields = keys.map((key) => this.#field(key, shape[key], { name, path, wordKey }));
    const cases = keys.map((key) => `case ${quoted(key)}:`).join(' ');
    const absent = fields.map(({ variable }) => `${variable} === undefined`).join(' || ');
    const lines = [
      `if (!${this.#file.import('isPlainObject')}(value)) return undefined;`,
      ...fields.flatMap(({ lines: own }) => own),
      `if (${absent}) return undefined;`,
      `for (const key in value) {\nswitch (key) { ${cases} continue; default: return undefined; }\n}`,
      ...fields.flatMap(({ captured }) => captured),
      `return ${joined(fields)};`,
    ];
    return {
      body: lines.join('\n'),
      takesCaptured: fields.some(({ takesCaptured }) => takesCaptured),
      takesWord: wordKey !== undefined,
    };
  }

  #field(key, schema, { name, path, wordKey }) {
    const variable = variableOf(key);
    const at = path === '' ? key : `${path}.${key}`;
    const capture = this.#captures[at];
    const { held, absent } = unwrapped(schema);
    const given = `${camelCase(key)}Value`;
    const expression =
      key === wordKey
        ? `${this.#file.import(this.#quote)}(word)`
        : this.#expression(held, given, this.#nameOf(key, name), at);
    const isAbsent = absent === undefined ? '' : `${given} === undefined ? ${quoted(absent)} : `;
    const text = `${isAbsent}${expression}`;
    const isValueCaptured = capture?.what === 'value' && key !== wordKey;
    const isReadOnce = text.split(given).length === 2 && !isValueCaptured;
    const read = `value[${quoted(key)}]`;
    const lines =
      isReadOnce || key === wordKey
        ? [`const ${variable} = ${text.replace(given, read)};`]
        : [`const ${given} = ${read};`, `const ${variable} = ${text};`];
    return {
      key,
      variable,
      isOptional: absent === '',
      lines,
      captured:
        capture === undefined
          ? []
          : [captureLine(capture, { variable, given, absent, isWord: key === wordKey })],
      takesCaptured: capture !== undefined || expression.endsWith(', captured)'),
    };
  }

  /** Names a function after its key, with the parent's name as a prefix if the key is taken. */
  #nameOf(key, parent) {
    return this.#file.hasFunction(key) ? `${parent}${capitalised(camelCase(key))}` : key;
  }

  #tuple({ items, rest }, name, path) {
    if (rest) return {};
    const lines = [
      `if (!Array.isArray(value) || value.length !== ${items.length}) return undefined;`,
      ...items.flatMap((item, index) => [
        `const value${index}: unknown = value[${index}];`,
        `const item${index} = ${this.#expression(item, `value${index}`, name, path)};`,
        `if (item${index} === undefined) return undefined;`,
      ]),
      `return \`[${items.map((_, index) => `\${item${index}}`).join(',')}]\`;`,
    ];
    return { body: lines.join('\n'), takesCaptured: false };
  }

  #union({ options }, name, path) {
    const key = discriminatorOf(options);
    if (key !== undefined) return this.#byDiscriminator(options, key, { name, path });
    const [first, ...others] = options;
    const isNone = Object.values(defOf(first).shape ?? { none: first }).every(isNever);
    const known = (isNone ? others : options)
      .map((option) => this.#expression(option, 'value', name, path))
      .filter((expression) => expression !== never);
    const takesCaptured = known.some((expression) => expression.endsWith(', captured)'));
    const tried = known.map((expression) => `(${expression})`).join(' ?? ');
    const text = isNone ? `${this.#file.import('isEmpty')}(value) ? '{}' : ${tried}` : tried;
    return known.length === 0 ? {} : { body: `return ${text};`, takesCaptured };
  }

  /** Generates a switch over the literals of `key`, then tests each pattern, then the option for any string. */
  #byDiscriminator(options, key, { name, path }) {
    const calls = new Map();
    const others = [];
    let takesCaptured = false;
    for (const option of options) {
      const word = defOf(option).shape?.[key];
      if (word === undefined) continue;
      const isLiteral = defOf(word).type === 'literal';
      const [literal] = isLiteral ? word._zod.values : [];
      const made = this.#functionOf(option, `${name}${capitalised(nameOfWord(word))}`, path, key);
      if (made.name === never) continue;
      takesCaptured ||= made.takesCaptured;
      const call = `return ${made.name}(value, word${made.takesCaptured ? ', captured' : ''});`;
      if (isLiteral) calls.set(call, [...(calls.get(call) ?? []), `case ${quoted(literal)}:`]);
      else others.push(`if (${this.#isWord(word)}) ${call}`);
    }
    const cases = [...calls].map(([call, words]) => `${words.join(' ')} ${call}`);
    const lines = [
      `if (!${this.#file.import('isPlainObject')}(value)) return undefined;`,
      `const word = value[${quoted(key)}];`,
      `switch (word) {\n${cases.join('\n')}\n}`,
      ...others,
      'return undefined;',
    ];
    return { body: lines.join('\n'), takesCaptured };
  }

  #isWord(schema) {
    const isFit =
      defOf(schema).type === 'template_literal'
        ? `${this.#file.constant('WORD', schema._zod.pattern)}.test(word)`
        : `word !== ''`;
    return `typeof word === 'string' && ${isFit}`;
  }
}
