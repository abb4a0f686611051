import type { ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Test files that get a process of their own: they put other modules in the place of real ones,
 * change what a process has once (TLS defaults, the first use of a module), or count its open
 * files. They start first, and so do those that are mostly about other processes. A process of its
 * own costs a file half a second.
 */
const ALONE = [
  'test/{examples,readme}.test.ts',
  'test/package/install.test.ts',
  'test/contract/when-used.test.ts',
  'test/log/{buffered-destination,sync-destination,tracer}.test.ts',
  'test/webhook/wire/{connector-tls,transport}.test.ts',
];

/** What takes longest, so that nobody waits for it at the end while a core has nothing to do. */
const LONG =
  /(?:install|readme|examples|sender-load|sender-host|memory|simulation|real-queues|outage|post|json-schema|fields)\.test\.ts$/;

const rankOf = ({ project, moduleId }: TestSpecification): string =>
  `${project.name} ${LONG.test(moduleId) ? 0 : 1}`;

/** Vitest's own order, by the durations of the last run, knows nothing on a machine's first run. */
class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- the sequencer's own, which gives a copy
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a).localeCompare(rankOf(b)));
  }
}

// What each project says for itself.
const COMMON = {
  // Child processes: the suite forks programs, opens sockets and checks globals, which threads share.
  pool: 'forks' as const,
  // Real programs and sockets on a busy machine; what should be quick is measured by its own test.
  testTimeout: 30_000,
  hookTimeout: 120_000,
  // The built package is loaded by Node, as everywhere.
  server: { deps: { external: [/\/dist\//] } },
};

export default {
  test: {
    maxWorkers: 2,
    sequence: { sequencer: LongFirst },
    globalSetup: 'test/helpers/compiled-fixtures.ts',
    coverage: {
      provider: 'v8',
      include: ['src/**'],
      reporter: ['text', 'json-summary'],
      thresholds: { lines: 95, branches: 95, functions: 95, statements: 95 },
    },
    // They run in the order of their names.
    projects: [
      { test: { ...COMMON, name: 'alone', include: ALONE } },
      {
        test: {
          ...COMMON,
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: ALONE,
          isolate: false,
        },
      },
    ],
  },
} satisfies ViteUserConfig;
