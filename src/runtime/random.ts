/** Returns a number in [0, 1). An argument, so that jitter can be tested. */
export type Random = () => number;

export const systemRandom: Random = () => Math.random();
