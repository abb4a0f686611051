import { defineConfig } from 'vitest/config';

/** The folders of tests that scripts/mutation-sample.mjs names. */
const folders = (process.env['MUTATED_TESTS'] ?? '').split(' ');

/** For `npm run test:mutation`. */
export default defineConfig({
  test: {
    globalSetup: 'test/helpers/compile-programs.ts',
    // As in vitest.config.ts: mutants run on a busy machine.
    testTimeout: 30_000,
    include: folders.map((folder) => `${folder}/**/*.test.ts`),
    // A program or a worker that a test starts runs without the mutant.
    exclude: [
      'test/!(queue)/**/*.integration.test.ts',
      'test/queue/sqlite.integration.test.ts',
      'test/queue/sqlite/!(in-process).integration.test.ts',
      '**/*.server.test.ts',
    ],
  },
});
