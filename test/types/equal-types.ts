/** Statements about types: the build of the types fails where one is wrong. */
export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export type IsAny<T> = 0 extends 1 & T ? true : false;

export const same = <_T extends true>(): void => {};
