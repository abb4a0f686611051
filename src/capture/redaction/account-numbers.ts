/**
 * Finds account numbers with a checksum: payment cards of 13 to 19 digits (ISO/IEC 7812-1, Luhn) and
 * IBANs (ISO 13616).
 */

import type { Finder, Span } from './secret-shapes.ts';

/** The first digit of a card is 2 to 6. A number that begins with 1 may be a time in milliseconds. */
const CARD_DIGITS = /^[2-6][0-9]{12,18}$/;

export function isCardNumber(digits: string): boolean {
  return CARD_DIGITS.test(digits) && luhnSum(digits) % 10 === 0;
}

function luhnSum(digits: string): number {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const weighed = index % 2 === 0 ? digit : digit * 2;
    sum += weighed > 9 ? weighed - 9 : weighed;
  }
  return sum;
}

/** Groups of four digits, groups of 4-6-5 or 4-6-4, or no groups. Longer forms are tried first. */
const PRINTED = [
  '[0-9]{4}([ -])(?:[0-9]{4}\\1){3}[0-9]{1,4}',
  '[0-9]{4}([ -])(?:[0-9]{4}\\1){2}[0-9]{1,4}',
  '[0-9]{4}([ -])[0-9]{6}\\1[0-9]{4,5}',
  '[0-9]{13,19}',
].map((form) => new RegExp(`${form}(?![A-Za-z0-9_])`, 'y'));

/** The beginning of a number at the end of a text that was cut. */
const CUT_DIGITS = /(?<![A-Za-z0-9_])(?<![0-9]\.)[2-6](?:[ -]?[0-9]){5,18}$/;

/** Not inside a word, and not the decimals of a number. */
const DIGITS = /(?<![A-Za-z0-9_])(?<![0-9]\.)[0-9]+(?![A-Za-z0-9_])/g;

/** A fast check: every card number matches, with or without groups, and most texts do not. */
const ENOUGH_DIGITS = /(?:[0-9][ -]?){13}/;

/**
 * Yields the card numbers in a text, in order and in linear time. Digits at a cut are assumed to be a card
 * number if they could begin one.
 */
function* cardNumbers(text: string, isCut: boolean): Generator<Span> {
  let end = 0;
  for (const { index: start } of text.matchAll(DIGITS)) {
    const length = start < end ? 0 : cardLength(text, start);
    if (length === 0) continue;
    end = start + length;
    yield { start, end };
  }
  const cut = isCut ? CUT_DIGITS.exec(text) : null;
  if (cut !== null && cut.index >= end) yield { start: cut.index, end: text.length };
}

/** Returns the length of the card number that begins at `start`, or 0. */
function cardLength(text: string, start: number): number {
  for (const form of PRINTED) {
    form.lastIndex = start;
    const [written = ''] = form.exec(text) ?? [];
    if (isCardNumber(written.replace(/[ -]/g, ''))) return written.length;
  }
  return 0;
}

/** Without spaces, or in groups of four. */
const IBAN =
  /(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?:[A-Za-z0-9]{11,30}|(?: [A-Za-z0-9]{4}){2,7}(?: [A-Za-z0-9]{1,3})?)(?![A-Za-z0-9])/g;

const MAYBE_IBAN = /[A-Za-z]{2}[0-9]{2}[A-Za-z0-9 ]{11}/;

/** Yields the IBANs in a text, in order. */
function* ibans(text: string): Generator<Span> {
  for (const match of text.matchAll(IBAN)) {
    const iban = match[0].replaceAll(' ', '').toUpperCase();
    if (isIban(iban)) yield { start: match.index, end: match.index + match[0].length };
  }
}

/** Moves the first four characters to the end, reads letters as 10 to 35, and checks the rest modulo 97. */
function isIban(iban: string): boolean {
  let rest = 0;
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (value < 10 ? rest * 10 + value : rest * 100 + value) % 97;
  }
  return rest === 1;
}

export const ACCOUNT_FINDERS: readonly Finder[] = [
  { applies: (text) => MAYBE_IBAN.test(text), finds: [ibans] },
  { applies: (text, isCut) => isCut || ENOUGH_DIGITS.test(text), finds: [cardNumbers] },
];
