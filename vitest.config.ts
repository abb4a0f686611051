import type { TestProjectConfiguration, ViteUserConfig } from 'vitest/config';
import { quickOrNightly } from './test/helpers/quick-or-nightly.ts';

/** What a newcomer needs to trust a clone, beside the unit tests: the built package, as its users load it. */
const SMOKE = [
  'test/package/{exports,globals}.integration.test.ts',
  'test/cli/program.integration.test.ts',
];

/**
 * Test files that need a process of their own: they replace modules, change what a process has only
 * once (TLS defaults, the first use of a module), or count its open files. This costs half a second
 * for each file.
 */
const ISOLATED_UNITS = [
  'test/contract/lazy-schema.test.ts',
  'test/log/tracer.test.ts',
  'test/reporter/own-lines.test.ts',
  'test/webhook/http/{connector-tls,transport}.test.ts',
];

/**
 * The laws of queues, in the worker that the package starts. On Node 20 they run in the test's own
 * thread alone (sqlite/in-process.integration.test.ts), and in the worker at night.
 */
const IN_THE_WORKER = 'test/queue/sqlite.integration.test.ts';
const isNode20 = process.version.startsWith('v20.');
const notNow = quickOrNightly(isNode20, false) ? [IN_THE_WORKER] : [];

const UNITS = 'test/**/*.test.ts';
const INTEGRATION = 'test/**/*.integration.test.ts';
const SERVER = 'test/**/*.server.test.ts';

/** Compiles the programs of test/fixtures, which only these tiers start. */
const withPrograms = { globalSetup: 'test/helpers/compile-programs.ts' };

/** The same random inputs in every run. */
const withSeed = { setupFiles: 'test/helpers/random-seed.ts' };

const project = (name: string, test: object): TestProjectConfiguration => ({
  test: {
    name,
    // Child processes: the tests open sockets and check globals, which threads share.
    pool: 'forks',
    // Only end what hangs, on a machine of any speed; what should be quick is measured by its own test.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    // Node loads the built package, as it does for users.
    server: { deps: { external: [/\/dist\//] } },
    ...test,
  },
});

export default {
  test: {
    // Vitest leaves one core idle by default, which is half of a small machine.
    maxWorkers: '100%',
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      exclude: ['src/**/*.generated.ts'],
      reporter: ['text', 'json-summary'],
      thresholds: { lines: 95, branches: 95, functions: 95, statements: 95 },
    },
    projects: [
      project('unit-isolated', { include: ISOLATED_UNITS, ...withSeed }),
      project('unit', {
        include: [UNITS],
        exclude: [INTEGRATION, SERVER, ...ISOLATED_UNITS],
        isolate: false,
        ...withSeed,
      }),
      project('smoke', { include: SMOKE }),
      project('integration', {
        include: [INTEGRATION],
        exclude: [...SMOKE, ...notNow],
        ...withPrograms,
        ...withSeed,
      }),
      project('server', { include: [SERVER], ...withPrograms, ...withSeed }),
    ],
  },
} satisfies ViteUserConfig;
