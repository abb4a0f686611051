/** The options of a PostgreSQL queue. */
import { describe, expect, test } from 'vitest';
import { readQueueOptions } from '../../../src/queue/postgres/options.ts';
import { createPostgresQueue } from '../../../src/queue/postgres.ts';

const connection = 'postgres://queue@localhost/events';

describe('the options of a PostgreSQL queue', () => {
  test.each<[object, readonly string[], string]>([
    [{}, ['connection'], 'expected exactly one of connection, connect and pool'],
    [{ connection, pool: { query: 1, connect: 1 } }, ['connection'], 'exactly one of'],
    [{ connection, connect: () => connection }, ['connection'], 'exactly one of'],
    [{ connect: connection }, ['connect'], 'a function'],
    [{ connection: [connection, ''] }, ['connection'], 'an object or a list of them'],
    [{ connection: '' }, ['connection'], 'a connection string, an object'],
    [{ connection: 'mysql://root@localhost/events' }, ['connection'], 'a connection string'],
    [{ connection: [connection, 'HTTPS://localhost'] }, ['connection'], 'a list of them'],
    [{ connection: [] }, ['connection'], 'a connection string, an object'],
    [{ pool: { query: 1 } }, ['pool'], 'a pool of pg'],
    [{ connection, schema: '1st' }, ['schema'], 'does not begin with a digit'],
    [{ connection, schema: 'a"b' }, ['schema'], 'letters, digits and _'],
    [{ connection, schema: 'a'.repeat(64) }, ['schema'], 'letters, digits and _'],
    [{ connection, maxPendingMessages: 0 }, ['maxPendingMessages'], 'an integer from 1'],
    [{ connection, maxPendingBytes: 0.5 }, ['maxPendingBytes'], 'an integer from 1'],
    [{ connection, maxConnections: 1001 }, ['maxConnections'], 'an integer from 1 to 1000'],
    [{ connection, pollMs: 9 }, ['pollMs'], 'an integer from 10'],
    [{ connection, callTimeoutMs: 99 }, ['callTimeoutMs'], 'an integer from 100'],
    [{ connection, listen: 1 }, ['listen'], 'true or false'],
    [{ connection, transactionPooling: 'yes' }, ['transactionPooling'], 'true or false'],
    [
      { connection, transactionPooling: true, listen: true },
      ['listen'],
      'expected listen to be false',
    ],
    [{ connection, lease: 1 }, ['lease'], 'unknown key "lease"'],
  ])('refuse %j', (options, path, text) => {
    expect(() => createPostgresQueue(options)).toThrow(
      expect.objectContaining({
        code: 'ERR_INVALID_OPTION',
        path,
        message: expect.stringContaining(text),
      }),
    );
  });

  test.each(['POSTGRESQL://localhost', 'socket:///run/postgresql?db=events', '/run/postgresql'])(
    'accept the connection string %s',
    (text) => {
      expect(readQueueOptions({ connection: text })).toMatchObject({ connection: text });
    },
  );

  test('have defaults', () => {
    expect(readQueueOptions({ connection })).toEqual({
      connection,
      schema: 'security_events',
      callTimeoutMs: 30_000,
      transactionPooling: false,
      maxPendingMessages: 10_000_000,
      maxPendingBytes: 10_737_418_240,
      maxConnections: 10,
      listen: true,
      pollMs: 1000,
    });
    expect(readQueueOptions({ connection, transactionPooling: true }).listen).toBe(false);
  });
});
