/** `npm run test:core`: the same tests as everywhere, those of the core alone, in less than a minute. */
import { defineConfig } from 'vitest/config';
import all from './vitest.config.ts';

/** The package, the contract, addresses, the log writer, direct sending. */
const CORE = [
  'test/{bench,errors,once}.test.ts',
  'test/{address,contract,log}/**/*.test.ts',
  'test/package/{docs,exports,globals,import-rules}.test.ts',
  'test/webhook/*.test.ts',
  'test/webhook/wire/**/*.test.ts',
];

const { projects, ...common } = all.test;

export default defineConfig({
  test: {
    ...common,
    // What has a process of its own is all of the core.
    projects: projects.map(({ test }) => ({
      test: {
        ...test,
        include: test.name === 'alone' ? test.include : CORE,
        env: { CORE_TESTS: '1' },
      },
    })),
  },
});
