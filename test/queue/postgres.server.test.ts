import { describe } from 'vitest';
import { postgresPrograms } from '../helpers/postgres-server.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { describePostgresConformance } from './postgres/describe-postgres-conformance.ts';

describe.runIf(postgresPrograms !== undefined)('the PostgreSQL queue', () => {
  describePostgresConformance({
    reach: (server) => Promise.resolve({ connection: server.connection, end: async () => {} }),
    options: {},
    randomRuns: quickOrNightly(20, 60),
  });
});
