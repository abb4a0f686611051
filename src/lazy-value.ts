/** Creates a value on first use, and keeps it. Keeps imports of the package cheap. */
export function lazyValue<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
