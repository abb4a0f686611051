import { defineConfig } from 'vitest/config';

/** For `npm run test:mutation` alone: the tests of what is mutated, so that two cores can bear it. */
export default defineConfig({
  test: {
    globalSetup: 'test/helpers/compiled-fixtures.ts',
    include: ['test/{contract,queue,webhook}/**/*.test.ts'],
    // What starts programs of its own cannot tell which mutant they ran: these files…
    exclude: [
      'test/webhook/wire/{load-undici,uninherited}.test.ts',
      'test/webhook/engine/sender-{host,load}.test.ts',
    ],
    // … and these tests.
    testNamePattern: /^(?!.*(?:200,000|ends by itself after|over TLS a certificate|a process))/,
  },
});
