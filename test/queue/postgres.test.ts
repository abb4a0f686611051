import { describe } from 'vitest';
import { postgresPrograms } from '../helpers/postgres-server.ts';
import { quickOrWhole } from '../helpers/quick-or-whole.ts';
import { describePostgresConformance } from './postgres/describe-postgres-conformance.ts';

describe.runIf(postgresPrograms !== undefined)('the PostgreSQL queue', () => {
  describePostgresConformance({
    reach: (server) => Promise.resolve({ connection: server.connection, end: async () => {} }),
    options: {},
    blackHoleMessages: quickOrWhole(2000, 50_000),
    crowd: quickOrWhole(100, 2000),
    randomRuns: quickOrWhole(4, 40),
  });
});
