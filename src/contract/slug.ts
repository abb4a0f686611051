import { lazyValue } from '../lazy-value.ts';

const WORD = '[\\p{Ll}\\p{Lo}\\p{N}]+';

const PORTABLE_WORD = '(?:[a-z0-9]|[^\\x00-\\x7f])+';

/** For the JSON Schemas: `\p` is a syntax error in Python. Beyond ASCII it accepts any character. */
export const PORTABLE_SLUG = `^${PORTABLE_WORD}(?:[._]${PORTABLE_WORD})*$`;

/** Words of small letters and digits, joined by underscores or dots (D16). */
export const playbookSlug = lazyValue(() => new RegExp(`^${WORD}(?:[._]${WORD})*$`, 'u'));

// Created on first use: its tables of letters take longer to load than many modules.
const words = lazyValue(() => new RegExp(WORD, 'gu'));

/**
 * Returns the slug of a playbook's name (D16): lowercase words joined by underscores; a dot between two words
 * is kept. `slugify('Block IPs v2.1 - Account Takeover')` is `block_ips_v2.1_account_takeover`. Keeps letters
 * and digits of every script, folds compatibility forms (NFKC), and drops combining marks (such as the vowel
 * signs of Hindi) and modifier letters (such as `ー`). Returns `''` if the name has no letters or digits.
 */
export function slugify(name: string): string {
  const folded = name
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFKC')
    .replace(/[\p{M}\p{Lm}]/gu, '')
    // Hangul letters that a mark separated are neighbours now.
    .normalize('NFKC');
  let slug = '';
  let end = 0;
  for (const match of folded.matchAll(words())) {
    if (slug !== '') slug += folded.slice(end, match.index) === '.' ? '.' : '_';
    slug += match[0];
    end = match.index + match[0].length;
  }
  return slug;
}
