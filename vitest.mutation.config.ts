import { defineConfig } from 'vitest/config';

/** For `npm run test:mutation`: the tests of the mutated folders. */
export default defineConfig({
  test: {
    globalSetup: 'test/helpers/compile-programs.ts',
    // As in vitest.config.ts: mutants run on a busy machine.
    testTimeout: 30_000,
    include: ['test/{contract,delivery,queue,webhook}/**/*.test.ts'],
    // A program or a worker that a test starts runs without the mutant.
    exclude: [
      'test/{delivery,webhook}/**/*.integration.test.ts',
      'test/queue/sqlite.integration.test.ts',
      'test/queue/**/{killed,process-end}.*.test.ts',
    ],
    testNamePattern: /^(?!.*(?:200,000|ends by itself after|over TLS a certificate|a process))/,
  },
});
