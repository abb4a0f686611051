/** What must not stand in a record: values of sensitive keys, and what looks like a secret. */

import { check, listOf, oneOf, usable } from '../../option-rules.ts';
import { isCardNumber } from './account-numbers.ts';
import type { Span } from './finder.ts';
import { isKeyPattern, type NameVerdict, nameMatcher } from './name-matcher.ts';
import { looksRandom } from './random-looking.ts';
import { secretFinders } from './secret-finder.ts';
import { AMBIGUOUS_KEYS, SENSITIVE_KEYS } from './sensitive-names.ts';

/** Stands where a secret was. */
export const REDACTED = '[redacted]';

export interface RedactionOptions {
  /**
   * Names whose values are secret: a list instead of {@link SENSITIVE_KEYS}, or what to change of
   * it. Patterns are lower-case letters and digits, with a `*` in front or behind where the name may
   * go on: see {@link SENSITIVE_KEYS}. `[]` redacts by no name.
   */
  readonly sensitiveKeys?:
    | readonly string[]
    | {
        /** Patterns beside those of the default list. */
        readonly add?: readonly string[];
        /** Patterns of the default list that shall not count; each must be one of it. */
        readonly remove?: readonly string[];
        /** Whole names, in any spelling, that are shown though a pattern fits: `max_tokens`. */
        readonly keep?: readonly string[];
      };
  /** Whether secrets are masked by their looks inside of texts and numbers, too. Default true. */
  readonly maskValues?: boolean;
}

export interface Redactor {
  /** Whether the value of a parameter of this name is secret; in any spelling of the name. */
  readonly isSensitiveKey: (key: string) => boolean;
  /**
   * Whether a value of this name is secret: that of a sensitive name is, that of an ambiguous one, such
   * as `code` or `state`, if it looks random.
   */
  readonly isSecret: (name: string, value: string) => boolean;
  /** Whether a segment of a path is secret, by its looks and the segment before it: `/token/…`. */
  readonly isSecretSegment: (before: string, segment: string) => boolean;
  /**
   * The text with its secrets replaced by {@link REDACTED}. With `isCut` the text went on: a secret
   * that begins before the cut counts as one, though its end is not seen. Linear in the text.
   */
  readonly maskText: (text: string, isCut?: boolean) => string;
  /** Whether a number is a secret: payment cards come as numbers, too. */
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

/** A short card number; every other secret is longer, or stands behind one of these signs. */
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
