/** Secrets inside a text, one pass for each kind. Every pass is linear in the text: see the shapes. */
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
      // What goes on behind the cut may be the rest of a secret.
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
/** A longer token, a path or the name of a file. */
const BESIDE_LONGER = /[=_.-]/;
const isInKey = (text: string, at: number): boolean => IN_KEY.test(text.charAt(at));

/**
 * Secret access keys of AWS: 40 characters of base64 that are not in hexadecimal, as hashes are. They
 * have no other sign. One character of each 40 is looked at: a key covers one of these.
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

/** The finders, to be used in this order. They hold no state between two texts. */
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
