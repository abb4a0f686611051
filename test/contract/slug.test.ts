import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { slugify } from '../../src/contract/index.ts';
import { playbookSlug } from '../../src/contract/slug.ts';
import { anyText, wellFormedText } from './cases/texts.ts';

const NAMES: readonly [string, string][] = [
  ['Block IPs v2.1 - Account Takeover', 'block_ips_v2.1_account_takeover'],
  ['block_ips_v2.1_account_takeover', 'block_ips_v2.1_account_takeover'],
  ['', ''],
  [' - . _ ', ''],
  ['.v1.', 'v1'],
  ['a..b', 'a_b'],
  ['a. b', 'a_b'],
  ['a__b', 'a_b'],
  ['Ｆｕｌｌ　Ｗｉｄｔｈ', 'full_width'],
  ['Café', 'café'],
  ['Cafe\u0301', 'café'],
  ['x\u0323\u0301y', 'xy'],
  ['İstanbul', 'istanbul'],
  ['½', '1_2'],
  ['ΣΑΣ', 'σας'],
  ['阻止 IP', '阻止_ip'],
  ['٣ أيام', '٣_أيام'],
  ['🚨 Alert 🚨', 'alert'],
  // A mark between two Hangul letters, which are one syllable without it.
  ['\u1100\u0301\u1161', '\uac00'],
];

const MARKS = ['\u0301', '\u0345', '\u0323', 'ʰ', 'ー', '.', '_', ' ', '-', '\u200d'];
const LETTERS = Array.from('\u1100\u1161\u11a8İßﬃΣǄ½Ａᾳa9ⓐ');

describe('slugify', () => {
  it.each(NAMES)('D16 turns %j into %j', (name, slug) => {
    expect(slugify(name)).toBe(slug);
  });

  it.each([
    ['any text', wellFormedText],
    [
      'letters and marks that change under normalisation',
      fc.array(fc.constantFrom(...MARKS, ...LETTERS)).map((parts) => parts.join('')),
    ],
    ['any UTF-16, lone surrogates too', anyText],
  ])('D16 gives a slug or nothing for %s, and the same for its own slug', (_what, texts) => {
    fc.assert(
      fc.property(texts, (name) => {
        const slug = slugify(name);
        expect(slug === '' || playbookSlug().test(slug)).toBe(true);
        expect(slugify(slug)).toBe(slug);
      }),
    );
  });
});
