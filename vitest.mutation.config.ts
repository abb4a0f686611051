import { defineConfig } from 'vitest/config';

/** For `npm run test:mutation` alone: the tests of what is mutated, so that two cores can bear it. */
export default defineConfig({
  test: {
    globalSetup: 'test/helpers/compiled-fixtures.ts',
    include: ['test/{contract,queue,webhook}/**/*.test.ts'],
    // Each of these starts programs of its own, which cannot tell which mutant they ran.
    exclude: [
      'test/webhook/wire/load-undici.test.ts',
      'test/webhook/engine/sender-{host,load}.test.ts',
    ],
  },
});
