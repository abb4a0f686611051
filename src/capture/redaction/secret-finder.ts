/** Finds secrets inside a text, with one linear pass for each kind: see secret-shapes.ts. */
import { cardNumbers, ibans, mayHaveCards, mayHaveIbans } from './account-numbers.ts';
import { endFinder, type Find, type Finder, type Span } from './finder.ts';
import { namedValueFinders, type VerdictOf } from './named-values.ts';
import { SECRET_SHAPES, type SecretShape } from './secret-shapes.ts';

function shapeFinder({ start, rest, showsStart, isSecret }: SecretShape): Find {
  const starts = new RegExp(start, 'g');
  const endOf = endFinder(rest);
  return function* find(text, isCut) {
    starts.lastIndex = 0;
    for (let match = starts.exec(text); match !== null; match = starts.exec(text)) {
      const from = match.index + match[0].length;
      const end = endOf(text, from);
      // The cut may have shortened a secret.
      const isOpen = isCut && end === text.length;
      if (isOpen || isSecret(text.slice(from, end), text.charAt(end))) {
        yield { start: showsStart ? from : match.index, end };
      }
      starts.lastIndex = Math.max(end, from);
    }
  };
}

const KEY_LENGTH = 40;
const IN_KEY = /[A-Za-z0-9/+]/;
/** Neighbours that make it a longer token, a path or a file name. */
const BESIDE_LONGER = /[=_.-]/;
const isInKey = (text: string, at: number): boolean => IN_KEY.test(text.charAt(at));

/**
 * Finds secret access keys of AWS: 40 characters of base64, but not hexadecimal, like hashes. They have no
 * prefix. Tests every 40th character: each key contains one of these.
 */
function* awsSecretKeys(text: string): Generator<Span> {
  for (let at = KEY_LENGTH - 1; at < text.length; at += KEY_LENGTH) {
    if (!isInKey(text, at)) continue;
    let start = at;
    while (at - start < KEY_LENGTH && isInKey(text, start - 1)) start -= 1;
    let end = at + 1;
    while (end - start <= KEY_LENGTH && isInKey(text, end)) end += 1;
    if (end - start === KEY_LENGTH && isAwsKey(text, start, end)) yield { start, end };
  }
}

function isAwsKey(text: string, start: number, end: number): boolean {
  if (BESIDE_LONGER.test(text.charAt(start - 1)) || BESIDE_LONGER.test(text.charAt(end)))
    return false;
  const key = text.slice(start, end);
  return [/[a-z]/, /[A-Z]/, /[0-9]/].every((kind) => kind.test(key));
}

/** Returns the finders in the order in which they must run. They keep no state between texts. */
export function secretFinders(verdictOf: VerdictOf): readonly Finder[] {
  const anyStart = new RegExp(SECRET_SHAPES.map(({ start }) => start).join('|'));
  return [
    { applies: (text) => anyStart.test(text), finds: SECRET_SHAPES.map(shapeFinder) },
    ...namedValueFinders(verdictOf),
    { applies: (text) => text.length >= KEY_LENGTH, finds: [awsSecretKeys] },
    { applies: mayHaveIbans, finds: [ibans] },
    { applies: mayHaveCards, finds: [cardNumbers] },
  ];
}
