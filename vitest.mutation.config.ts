import { defineConfig } from 'vitest/config';

/** For `npm run test:mutation`: the tests of the mutated folders. */
export default defineConfig({
  test: {
    globalSetup: 'test/helpers/compile-programs.ts',
    include: ['test/{contract,queue,webhook}/**/*.test.ts'],
    // A program that a test starts runs without the mutant.
    exclude: ['test/webhook/**/*.integration.test.ts', 'test/queue/**/{killed,process}.*.test.ts'],
    testNamePattern: /^(?!.*(?:200,000|ends by itself after|over TLS a certificate|a process))/,
  },
});
