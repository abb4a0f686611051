import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Child processes: the suite forks programs, opens sockets and checks globals, which threads share.
    pool: 'forks',
    maxWorkers: 2,
    // Real programs and sockets on a busy machine; what should be quick is measured by its own test.
    testTimeout: 30_000,
    hookTimeout: 120_000,
    coverage: {
      provider: 'v8',
      include: ['src/**'],
      reporter: ['text', 'json-summary'],
      thresholds: { lines: 95, branches: 95, functions: 95, statements: 95 },
    },
  },
});
