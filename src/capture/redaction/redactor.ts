/** Redacts the values of sensitive keys, and values that look like secrets. */
import { check, listOf, oneOf, usable } from '../../option-rules.ts';
import { isCardNumber } from './account-numbers.ts';
import type { Span } from './finder.ts';
import { isKeyPattern, type NameVerdict, nameMatcher } from './name-matcher.ts';
import { looksRandom } from './random-looking.ts';
import { secretFinders } from './secret-finder.ts';
import { AMBIGUOUS_KEYS, SENSITIVE_KEYS } from './sensitive-names.ts';

/** Replaces a secret. */
export const REDACTED = '[redacted]';

export interface RedactionOptions {
  /**
   * Names whose values are secret: a list that replaces {@link SENSITIVE_KEYS}, or changes to it. Patterns
   * are lower-case letters and digits, with an optional `*` at either end: see {@link SENSITIVE_KEYS}. With
   * `[]` nothing is redacted by name.
   */
  readonly sensitiveKeys?:
    | readonly string[]
    | {
        /** Patterns to add to the default list. */
        readonly add?: readonly string[];
        /** Patterns to remove from the default list. */
        readonly remove?: readonly string[];
        /** Whole names, in any spelling, to show although a pattern matches: `max_tokens`. */
        readonly keep?: readonly string[];
      };
  /** Masks values inside texts and numbers that look like secrets. Default true. */
  readonly maskValues?: boolean;
}

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

const PATTERN_LIST = listOf('patterns such as "apikey" or "*token"', isKeyPattern);

const RULES = {
  sensitiveKeys: usable(
    'a list of patterns, or an object of lists',
    (value) => typeof value === 'object' && value !== null,
  ),
  maskValues: oneOf(true, false),
};

const CHANGE_RULES = {
  add: PATTERN_LIST,
  remove: listOf(
    'patterns of the default list',
    (value) => typeof value === 'string' && SENSITIVE_KEYS.includes(value),
  ),
  keep: listOf('names', (value) => typeof value === 'string' && value !== ''),
};

/** @throws SecurityEventError `ERR_INVALID_OPTION` */
export function createRedactor(options: RedactionOptions = {}): Redactor {
  const { sensitiveKeys = {}, maskValues = true } = check<RedactionOptions>(options, RULES, {
    name: 'redaction',
    path: ['redaction'],
  });
  const verdictOf = matcherOf(sensitiveKeys);
  const isSensitiveKey = (key: string): boolean => verdictOf(key) === 'sensitive';
  if (!maskValues) {
    return {
      isSensitiveKey,
      isSecret: isSensitiveKey,
      isSecretSegment: () => false,
      maskText: (text) => text,
      isSecretNumber: () => false,
    };
  }
  const isSecret = (name: string, value: string): boolean => {
    const verdict = verdictOf(name);
    return verdict === 'sensitive' || (verdict === 'ambiguous' && looksRandom(value));
  };
  const finders = secretFinders(verdictOf);
  return {
    isSensitiveKey,
    isSecret,
    isSecretSegment: (before, segment) =>
      before !== '' && verdictOf(before) !== 'harmless' && looksRandom(segment),
    maskText: (text, isCut = false) => {
      if (isHarmless(text)) return text;
      let masked = text;
      for (const { applies, finds } of finders) {
        if (!applies(masked, isCut)) continue;
        for (const find of finds) masked = mask(masked, find(masked, isCut));
      }
      return masked;
    },
    isSecretNumber: (value) => Number.isSafeInteger(value) && isCardNumber(String(value)),
  };
}

/** The length of a short card number; other secrets are longer, or follow one of these signs. */
const SHORTEST_SECRET = 13;
const isHarmless = (text: string): boolean => text.length < SHORTEST_SECRET && !/[=:<]/.test(text);

type SensitiveKeys = NonNullable<RedactionOptions['sensitiveKeys']>;

const isList = (keys: SensitiveKeys): keys is readonly string[] => Array.isArray(keys);

function matcherOf(keys: SensitiveKeys): (name: string) => NameVerdict {
  const path = ['redaction', 'sensitiveKeys'];
  if (isList(keys)) {
    const { sensitiveKeys } = check<{ sensitiveKeys: readonly string[] }>(
      { sensitiveKeys: keys },
      { sensitiveKeys: PATTERN_LIST },
      { name: 'redaction', path: ['redaction'] },
    );
    return nameMatcher({ sensitive: sensitiveKeys ?? [], ambiguous: [], kept: [] });
  }
  const {
    add = [],
    remove = [],
    keep = [],
  } = check<typeof keys>(keys, CHANGE_RULES, {
    name: path.join('.'),
    path,
  });
  const patterns = SENSITIVE_KEYS.filter((pattern) => !remove.includes(pattern));
  return nameMatcher({
    sensitive: [...patterns, ...add],
    ambiguous: AMBIGUOUS_KEYS,
    kept: keep,
  });
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
