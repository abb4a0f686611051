/**
 * How much of something a test takes: `whole` where `FULL_TESTS=1` says so, as CI does on the oldest
 * Node, and `quick` for whoever waits. What is tested of it is the same.
 */
export const quickOrWhole = <T>(quick: T, whole: T): T =>
  process.env['FULL_TESTS'] === '1' ? whole : quick;
