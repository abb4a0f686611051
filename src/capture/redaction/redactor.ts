/** Redacts the values of sensitive keys, and values that look like secrets. */
import { listOf, type OptionsOf, object, oneOf, option, readOptions } from '../../option-rules.ts';
import { ACCOUNT_FINDERS, isCardNumber } from './account-numbers.ts';
import { isKeyPattern, looksRandom, type NameVerdict, nameMatcher } from './name-matcher.ts';
import { namedValueFinders } from './named-values.ts';
import { AWS_KEY_FINDER, SHAPE_FINDER, type Span } from './secret-shapes.ts';
import { AMBIGUOUS_KEYS, SENSITIVE_KEYS } from './sensitive-names.ts';

/** Replaces a secret. */
export const REDACTED = '[redacted]';

const PATTERN_LIST = listOf('patterns such as "apikey" or "*token"', isKeyPattern);

const CHANGES = {
  /** Patterns to add to the default list. */
  add: option<readonly string[]>(PATTERN_LIST, []),
  /** Patterns to remove from the default list. */
  remove: option<readonly string[]>(
    listOf(
      'patterns of the default list',
      (value) => typeof value === 'string' && SENSITIVE_KEYS.includes(value),
    ),
    [],
  ),
  /** Whole names, in any spelling, whose values are shown although a pattern matches: `max_tokens`. */
  keep: option<readonly string[]>(
    listOf('names', (value) => typeof value === 'string' && value !== ''),
    [],
  ),
} as const;

const OPTIONS = {
  /**
   * Names whose values are secret: a list that replaces {@link SENSITIVE_KEYS}, or changes to it. Patterns
   * are lower-case letters and digits, with an optional `*` at either end: see {@link SENSITIVE_KEYS}. With
   * `[]` nothing is redacted by name.
   */
  sensitiveKeys: option<readonly string[] | OptionsOf<typeof CHANGES>>(
    object(
      `${PATTERN_LIST.expected}, or an object of lists`,
      (value) => !Array.isArray(value) || PATTERN_LIST.isUsable(value),
    ),
    {},
  ),
  /** Masks values that look like secrets: parts of texts, and whole numbers. Default true. */
  maskValues: option<boolean>(oneOf(true, false), true),
} as const;

export interface RedactionOptions extends OptionsOf<typeof OPTIONS> {}

export interface Redactor {
  /** Returns whether values of this name, in any spelling, are secret. */
  readonly isSensitiveKey: (key: string) => boolean;
  /**
   * Returns whether the value is secret: its name is sensitive, or the name is ambiguous (`code`, `state`)
   * and the value looks random.
   */
  readonly isSecret: (name: string, value: string) => boolean;
  /** Returns whether a segment of a path is secret, by itself and the segment before it: `/token/…`. */
  readonly isSecretSegment: (before: string, segment: string) => boolean;
  /**
   * Replaces secrets in a text by {@link REDACTED}. `isCut`: the text was shortened, so a secret may
   * lack its end. Linear in the text.
   */
  readonly maskText: (text: string, isCut?: boolean) => string;
  /** Returns whether a number is a payment card. */
  readonly isSecretNumber: (value: number) => boolean;
}

/** @throws SecurityEventError `ERR_INVALID_OPTION` */
export function createRedactor(options: RedactionOptions = {}): Redactor {
  const subject = { name: 'redaction', path: ['redaction'] };
  const { sensitiveKeys, maskValues } = readOptions(options, OPTIONS, subject);
  const verdictOf = matcherOf(sensitiveKeys);
  const isSensitiveKey = (key: string): boolean => verdictOf(key) === 'sensitive';
  const isRandom = (value: string): boolean => maskValues && looksRandom(value);
  // In this order: each searches the text as the earlier ones have masked it.
  const finders = maskValues
    ? [SHAPE_FINDER, ...namedValueFinders(verdictOf), AWS_KEY_FINDER, ...ACCOUNT_FINDERS]
    : [];
  return {
    isSensitiveKey,
    isSecret: (name, value) => {
      const verdict = verdictOf(name);
      return verdict === 'sensitive' || (verdict === 'ambiguous' && isRandom(value));
    },
    isSecretSegment: (before, segment) =>
      before !== '' && verdictOf(before) !== 'harmless' && isRandom(segment),
    maskText: (text, isCut = false) => {
      if (isHarmless(text)) return text;
      let masked = text;
      for (const { applies, finds } of finders) {
        if (!applies(masked, isCut)) continue;
        for (const find of finds) masked = mask(masked, find(masked, isCut));
      }
      return masked;
    },
    isSecretNumber: (value) =>
      maskValues && Number.isSafeInteger(value) && isCardNumber(String(value)),
  };
}

/** The length of a short card number; other secrets are longer, or follow one of these signs. */
const SHORTEST_SECRET = 13;
const isHarmless = (text: string): boolean => text.length < SHORTEST_SECRET && !/[=:<]/.test(text);

type SensitiveKeys = NonNullable<RedactionOptions['sensitiveKeys']>;

const isList = (keys: SensitiveKeys): keys is readonly string[] => Array.isArray(keys);

function matcherOf(keys: SensitiveKeys): (name: string) => NameVerdict {
  if (isList(keys)) return nameMatcher({ sensitive: keys, ambiguous: [], kept: [] });
  const path = ['redaction', 'sensitiveKeys'];
  const { add, remove, keep } = readOptions(keys, CHANGES, { name: path.join('.'), path });
  const patterns = SENSITIVE_KEYS.filter((pattern) => !remove.includes(pattern));
  return nameMatcher({ sensitive: [...patterns, ...add], ambiguous: AMBIGUOUS_KEYS, kept: keep });
}

function mask(text: string, spans: Iterable<Span>): string {
  let masked = '';
  let done = 0;
  for (const { start, end } of spans) {
    masked += `${text.slice(done, start)}${REDACTED}`;
    done = end;
  }
  return done === 0 ? text : masked + text.slice(done);
}
