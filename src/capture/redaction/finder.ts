/** Finds spans in a text, in linear time. */
import type { SecretShape } from './secret-shapes.ts';

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where the secrets of one kind stand in a text, in their order and apart from each other. */
export type Find = (text: string, isCut: boolean) => Iterable<Span>;

export interface Finder {
  /** Whether a text may have any. Most have none, and this is quicker than to look for them. */
  readonly applies: (text: string, isCut: boolean) => boolean;
  /** To be used in this order: each is shown the text as those before have masked it. */
  readonly finds: readonly Find[];
}

/** Where what began at `from` ends. Sticky expressions of one class never go back. */
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
