import fc from 'fast-check';

/** Generates values of every kind that fast-check knows. */
export const anyValue = (more: fc.ObjectConstraints = {}): fc.Arbitrary<unknown> =>
  fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    ...more,
  });
