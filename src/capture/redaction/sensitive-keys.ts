/**
 * Which names of parameters are secret: a list of patterns, and one linear matcher for all the
 * spellings in use (`api_key`, `apiKey`, `API-KEY`, `user[apikey]`).
 */
import { ownText } from '../request/own-text.ts';

/**
 * The default list. A pattern is letters and digits in lower case and fits where they stand as whole
 * words of a name, however these are joined: `apikey` fits `x-api-key`, `apiKey` and `user[apikey]`,
 * and `pin` does not fit `shipping`. A `*` in front or behind says that the name may go on there
 * within the word: `*token` fits `authtoken`.
 */
export const SENSITIVE_KEYS: readonly string[] = [
  // passwords
  '*password*',
  '*passwd*',
  '*passphrase*',
  '*passcode*',
  'pass',
  'pwd',
  'pw',
  'pin',
  'pincode',
  // one-time codes
  'otp',
  'totp',
  'mfacode',
  'recoverycode',
  'backupcode',
  'verificationcode',
  // tokens
  '*token',
  '*tokens',
  'jwt',
  'bearer',
  'csrf',
  'xsrf',
  'authcode',
  'codeverifier',
  'samlresponse',
  'assertion',
  // secrets and keys
  '*secret*',
  '*apikey*',
  '*accesskey*',
  '*privatekey*',
  '*encryptionkey*',
  'signingkey',
  'authkey',
  'sshkey',
  '*credential*',
  'signature',
  'sig',
  // authorization
  '*authorization*',
  'auth',
  // cookies and sessions
  'cookie',
  'cookies',
  'session',
  '*sessionid*',
  '*sessid*',
  'sessionkey',
  'sid',
  // cards and accounts
  '*cardnumber*',
  '*creditcard*',
  '*debitcard*',
  'cardno',
  'ccnumber',
  'pan',
  '*cvv*',
  'cvc',
  'cvn',
  'csc',
  'cardcode',
  'securitycode',
  'iban',
  'accountnumber',
  'routingnumber',
  // people
  'ssn',
  '*socialsecurity*',
  'nationalid',
  'taxid',
  'passportnumber',
];

const PATTERN = /^\*?[a-z0-9]+\*?$/;

export const isKeyPattern = (value: unknown): value is string =>
  typeof value === 'string' && PATTERN.test(value);

/** Judged by its beginning: work on one name is bounded. */
const MAX_JUDGED_LENGTH = 256;

/** Verdicts that are kept: an application's parameters have the same names again and again. */
const MAX_KEPT = 1000;
const MAX_KEPT_LENGTH = 64;

/** Where a new word begins: after other characters, at a capital, between letters and digits. */
const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;

interface Words {
  readonly squashed: string;
  /** Offsets in `squashed` where a word begins, and its end. */
  readonly bounds: ReadonlySet<number>;
}

function wordsOf(name: string): Words {
  const bounds = new Set<number>([0]);
  let squashed = '';
  for (const word of name.slice(0, MAX_JUDGED_LENGTH).match(WORD) ?? []) {
    squashed += word.toLowerCase();
    bounds.add(squashed.length);
  }
  return { squashed, bounds };
}

interface Pattern {
  readonly text: string;
  readonly opensAnywhere: boolean;
  readonly endsAnywhere: boolean;
}

const patternOf = (pattern: string): Pattern => ({
  text: pattern.replaceAll('*', ''),
  opensAnywhere: pattern.startsWith('*'),
  endsAnywhere: pattern.endsWith('*'),
});

function fits(
  { text, opensAnywhere, endsAnywhere }: Pattern,
  { squashed, bounds }: Words,
): boolean {
  let at = squashed.indexOf(text);
  while (at !== -1) {
    const opens = opensAnywhere || bounds.has(at);
    if (opens && (endsAnywhere || bounds.has(at + text.length))) return true;
    at = squashed.indexOf(text, at + 1);
  }
  return false;
}

/**
 * A judge of names by `patterns`; names that are spelt as one of `kept` (in any of the spellings)
 * are not sensitive.
 */
export function keyMatcher(
  patterns: readonly string[],
  kept: readonly string[],
): (name: string) => boolean {
  const compiled = patterns.map(patternOf);
  const exempt = new Set(kept.map((name) => wordsOf(name).squashed));
  const judge = (name: string): boolean => {
    const words = wordsOf(name);
    if (words.squashed === '' || exempt.has(words.squashed)) return false;
    return compiled.some((pattern) => fits(pattern, words));
  };
  const verdicts = new Map<string, boolean>();
  return (name) => {
    const known = verdicts.get(name);
    if (known !== undefined) return known;
    const verdict = judge(name);
    if (name.length <= MAX_KEPT_LENGTH) {
      // An attacker's made-up names cost one round of judging, not memory.
      if (verdicts.size >= MAX_KEPT) verdicts.clear();
      verdicts.set(ownText(name), verdict);
    }
    return verdict;
  };
}
