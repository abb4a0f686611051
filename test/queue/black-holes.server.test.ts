import { describe, expect, test } from 'vitest';
import { createPostgresQueue, createPostgresSchema } from '../../src/queue/postgres.ts';
import { PostgresServer, postgresPrograms } from '../helpers/postgres-server.ts';
import { ALL, HOLES, servePastBlackHoles } from './black-hole-run.ts';

describe.runIf(process.platform === 'linux' && postgresPrograms !== undefined)(
  'every healthy application is served',
  () => {
    test(`from a PostgreSQL queue, while all ${HOLES} before them hang`, async () => {
      const server = await PostgresServer.start();
      try {
        const { connection } = server;
        const given = { connection: { host: String(connection.host), user: connection.user } };
        await createPostgresSchema(given);
        expect(await servePastBlackHoles(() => createPostgresQueue(given))).toEqual(ALL);
      } finally {
        await server.stop();
      }
    });
  },
);
