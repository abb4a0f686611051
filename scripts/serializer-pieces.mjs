/** Names and statements of the generated serialisers. */

export const quoted = (text) => JSON.stringify(text);
export const capitalised = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
export const camelCase = (text) =>
  text.replaceAll(/[._-]+(\w)/g, (_, letter) => letter.toUpperCase());

export const defOf = (schema) => schema._zod.def;
export const checksOf = ({ checks = [], format, ...def }) => [
  ...(format === undefined ? [] : [{ ...def, format }]),
  ...checks.map((check) => check._zod.def),
];

/** Returns the schema inside optional, default and other wrappers. */
export function unwrapped(schema) {
  const { type, innerType, defaultValue } = defOf(schema);
  if (type === 'optional') return { held: innerType, absent: '' };
  if (type === 'default') return { held: innerType, absent: JSON.stringify(defaultValue) };
  return { held: schema, absent: undefined };
}

export const isNever = (schema) => {
  const { type, innerType } = defOf(schema);
  return type === 'never' || (type === 'optional' && defOf(innerType).type === 'never');
};

/** Returns the key that has a literal in several options. */
export function discriminatorOf(options) {
  const shapes = options.map((option) => defOf(option).shape ?? {});
  return Object.keys(shapes[0]).find(
    (key) =>
      shapes.filter((shape) => key in shape && defOf(shape[key]).type === 'literal').length > 1,
  );
}

/** Names that the generated code uses otherwise. */
const RESERVED = ['private', 'value', 'key', 'word', 'captured'];

export const variableOf = (key) => (RESERVED.includes(key) ? `${key}Text` : camelCase(key));

/** Returns the last part of a literal or pattern as a name. */
export function nameOfWord(word) {
  const { type, parts = [] } = defOf(word);
  if (type === 'literal') return camelCase([...word._zod.values][0].split('.').at(-1));
  return type === 'template_literal' ? camelCase(parts[0].split('.').at(-2) ?? parts[0]) : 'other';
}

export function captureLine({ name, what }, { variable, given, absent, isWord }) {
  if (isWord) return `captured.${name} = word;`;
  if (what === 'value') return `captured.${name} = ${given} as string;`;
  const isGiven = absent === '' ? `if (${variable} !== '') ` : '';
  return `${isGiven}captured.${name} = ${variable};`;
}

/** Returns the template of a field. An optional field is empty if it has no text. */
function piece({ key, variable, isOptional }, before, after) {
  const text = `${before}${JSON.stringify(key)}:\${${variable}}${after}`;
  return isOptional ? `\${${variable} === '' ? '' : \`${text}\`}` : text;
}

/** Returns the template of an object. Absent fields have empty texts. */
export function joined(fields) {
  const firstDue = fields.findIndex(({ isOptional }) => !isOptional);
  if (firstDue === -1) {
    const texts = fields.map((field) => piece(field, ',', '')).join('');
    return `\`{\${\`${texts}\`.slice(1)}}\``;
  }
  const texts = fields.map((field, index) => {
    if (index < firstDue) return piece(field, '', ',');
    return piece(field, index === firstDue ? '' : ',', '');
  });
  return `\`{${texts.join('')}}\``;
}

/** Matches pattern syntax that may accept more than letters, digits and the literal characters. */
const WIDE = /\\[^dw./+-]|\[\^|(?<!\\)\.(?![^[]*\])|["\u007f-\uffff]/u;

/** Returns whether no text that matches the pattern needs escaping in JSON. */
export const hasPlainCharacters = ({ source, flags }) => flags === '' && !WIDE.test(source);
