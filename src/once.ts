/** What is made when it is first asked for, and kept: whoever only imports the package does not pay for it. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
