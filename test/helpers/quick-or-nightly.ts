/**
 * Chooses the size of a test: `quick` by default, `nightly` in `npm run test:nightly`. The test
 * checks the same property with either.
 */
export const quickOrNightly = <T>(quick: T, nightly: T): T =>
  process.env['NIGHTLY_TESTS'] === '1' ? nightly : quick;
