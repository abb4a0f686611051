/** Finds spans in a text, in linear time. */
import type { SecretShape } from './secret-shapes.ts';

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Yields the secrets of one kind in a text, in order and without overlap. */
export type Find = (text: string, isCut: boolean) => Iterable<Span>;

export interface Finder {
  /** Returns whether a text may contain any: a fast check that skips most texts. */
  readonly applies: (text: string, isCut: boolean) => boolean;
  /** Run in this order: each gets the text as the earlier ones have masked it. */
  readonly finds: readonly Find[];
}

/** Returns a function that finds the end of a secret from `from` on. One character class never backtracks. */
export function endFinder(rest: SecretShape['rest']): (text: string, from: number) => number {
  if (typeof rest === 'object') {
    return (text, from) => {
      const end = text.indexOf(rest.until, from);
      return end === -1 ? text.length : end;
    };
  }
  const sticky = new RegExp(`${rest}*`, 'y');
  return (text, from) => {
    sticky.lastIndex = from;
    return from + (sticky.exec(text)?.[0].length ?? 0);
  };
}
