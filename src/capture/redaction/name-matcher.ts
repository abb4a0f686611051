/** Classifies names of parameters, in any spelling, and the values of ambiguous names. Linear in the text. */
import { BoundedMap } from '../../runtime/bounded-map.ts';
import { ownText } from '../request/clean-text.ts';

const PATTERN = /^\*?[a-z0-9]+\*?$/;

export const isKeyPattern = (value: unknown): value is string =>
  typeof value === 'string' && PATTERN.test(value);

const MAX_JUDGED_LENGTH = 256;

/** Limits of the cache of verdicts: an application's parameters repeat their names. */
const MAX_CACHED = 1000;
const MAX_CACHED_LENGTH = 64;

/** Splits at other characters, at capitals, and between letters and digits. */
const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;

/** Last words of names whose value is only a fact about a secret: `token_type`, `password_length`. */
const ABOUT =
  /[a-z0-9] (?:type|method|mode|policy|scanning|protection|count|length|lifetime|expiry|expires|enabled|required|strength|status|format|alg|algorithm|in|at) $/;

const NOT_ASCII = /\P{ASCII}/u;
const OTHER_LETTERS = /\P{ASCII}/gu;
const MARKS = /[\p{M}\p{Cf}]/gu;

/** Each group starts with the Latin letter that the others look like. */
const LOOK_ALIKES = 'aаɑα cсϲ eеє hһ iіıι kкκ lł oоοø pрρ sѕ tтτ wԝѡ xхχ yуγ'.split(' ');
const LATIN: ReadonlyMap<string, string> = new Map(
  LOOK_ALIKES.flatMap(([latin = '', ...others]) => others.map((letter) => [letter, latin])),
);

/** Normalises `contraseña`, `pаssword` with a Cyrillic letter, full-width letters and invisible characters. */
function inLatinLetters(name: string): string {
  if (!NOT_ASCII.test(name)) return name;
  const letters = name.normalize('NFKD').replace(MARKS, '');
  return letters.replace(OTHER_LETTERS, (letter) => LATIN.get(letter.toLowerCase()) ?? letter);
}

/** Returns the words in lower case, with a space before and after each. */
function wordsOf(name: string): string {
  const words = inLatinLetters(name.slice(0, MAX_JUDGED_LENGTH)).match(WORD) ?? [];
  return ` ${words.join(' ').toLowerCase()} `;
}

const NO_WORDS = wordsOf('');

const joined = (words: string): string => words.replaceAll(' ', '');

/** Returns an expression for {@link wordsOf}. A pattern spans any number of words. */
function expressionOf(patterns: readonly string[]): RegExp {
  const alternatives = patterns.map((pattern) =>
    ` ${pattern.split('').join(' ?')} `.replace(/^ \* \?| \?\* $/g, ''),
  );
  return new RegExp(alternatives.join('|') || '(?!)');
}

/** `ambiguous`: the value decides. */
export type NameVerdict = 'sensitive' | 'ambiguous' | 'harmless';

export interface NamePatterns {
  readonly sensitive: readonly string[];
  readonly ambiguous: readonly string[];
  /** Names, in any spelling, that are harmless although a pattern matches. */
  readonly kept: readonly string[];
}

export function nameMatcher({
  sensitive,
  ambiguous,
  kept,
}: NamePatterns): (name: string) => NameVerdict {
  const [secret, unclear] = [expressionOf(sensitive), expressionOf(ambiguous)];
  const exempt = new Set(kept.map((name) => joined(wordsOf(name))));
  const judge = (name: string): NameVerdict => {
    const words = wordsOf(name);
    if (words === NO_WORDS) return 'ambiguous';
    if (exempt.has(joined(words)) || ABOUT.test(words)) return 'harmless';
    if (secret.test(words)) return 'sensitive';
    return unclear.test(words) ? 'ambiguous' : 'harmless';
  };
  // An attacker's random names must not fill the memory.
  const verdicts = new BoundedMap<string, NameVerdict>(MAX_CACHED);
  return (name) => {
    const known = verdicts.get(name);
    if (known !== undefined) return known;
    const verdict = judge(name);
    if (name.length <= MAX_CACHED_LENGTH) verdicts.set(ownText(name), verdict);
    return verdict;
  };
}

/** Characters of tokens (RFC 6749 appendix A, base64url, base64); injections need others. */
const TOKEN = /^[A-Za-z0-9._~+/=:%-]{16,4096}$/;

/**
 * Values that are harmless or evidence of an attack, so they stay visible: paths, URLs and file names;
 * hexadecimal numbers, as in SQL injections; the first bytes of serialised objects (Java, .NET, Python, PHP) and gzip.
 */
const NO_TOKEN =
  /^(?:\/|0x|rO0AB|AAEAAAD|gASV|Tzo|YTo|H4sI)|\.\.|\/\/|%(?:2[267e]|3[ce]|0[0ad])|\.[a-z]{2,5}$/i;

const PIECE = /[A-Za-z0-9]{6,}/g;
const CHANGE = /[0-9](?=[A-Za-z])|[A-Za-z](?=[0-9])/g;

/** Returns false for the pieces of a slug, such as `summer-sale-2026` or `iphone-15-256gb`. */
const isMixed = (piece: string): boolean => (piece.match(CHANGE)?.length ?? 0) >= 2;

/** Recognises values that a program has generated: codes, nonces, sessions, opaque tokens. */
export function looksRandom(text: string): boolean {
  if (!TOKEN.test(text) || NO_TOKEN.test(text)) return false;
  return text.match(PIECE)?.some(isMixed) ?? false;
}
