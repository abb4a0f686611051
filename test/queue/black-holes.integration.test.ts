/** Many applications on real sockets, some of which never answer: what `bench/black-holes.ts` times. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runScene } from '../../bench/black-hole-scene.ts';
import { createWebhookSender } from '../../src/index.ts';
import { createLevelQueue } from '../../src/queue/level.ts';
import { createPostgresQueue, createPostgresSchema } from '../../src/queue/postgres.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import { PostgresServer, postgresPrograms } from '../helpers/postgres-server.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

/** Fewer than there are slots, and each keeps its own until its request times out after 15 s. */
const HOLES = quickOrNightly(10, 30);
const APPLICATIONS = 10 * HOLES;

/** With a second to spare: on a very busy machine the last ones are served after that. */
const BEFORE_TIMEOUT_MS = 14_000;

/** How many were served, and whether any black hole was given up meanwhile. */
async function serve(openQueue: (() => MessageQueue) | undefined): Promise<object> {
  const { firstMs, hanging } = await runScene({
    createSender: createWebhookSender,
    openQueue,
    applications: APPLICATIONS,
    holes: HOLES,
    holesFirst: true,
    messages: 2,
  });
  const isInTime = (firstMs.at(-1) ?? 0) < BEFORE_TIMEOUT_MS;
  return { served: firstMs.length, allHang: hanging === HOLES || !isInTime };
}

const ALL = { served: APPLICATIONS - HOLES, allHang: true };

describe.runIf(process.platform === 'linux')('every healthy application is served', () => {
  const title = `while all ${HOLES} before them hang`;

  test(`from a queue in memory, ${title}`, async () => {
    expect(await serve(undefined)).toEqual(ALL);
  });

  test(`from a queue in a folder, ${title}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'black-holes-'));
    try {
      expect(await serve(() => createLevelQueue({ folder, sync: false }))).toEqual(ALL);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  // A server takes longer to start than all of this.
  const hasServer = quickOrNightly(false, postgresPrograms !== undefined);
  test.runIf(hasServer)(`from a PostgreSQL queue, ${title}`, async () => {
    const server = await PostgresServer.start();
    try {
      const { connection } = server;
      const given = { connection: { host: String(connection.host), user: connection.user } };
      await createPostgresSchema(given);
      expect(await serve(() => createPostgresQueue(given))).toEqual(ALL);
    } finally {
      await server.stop();
    }
  });
});
