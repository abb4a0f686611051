/** The recipe for BullMQ, with a real Redis. */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { freePort } from './helpers/http.ts';
import { root } from './helpers/package-files.ts';
import { Recipe, request } from './helpers/recipe.ts';

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
if (!hasRedis) {
  const reason = 'no redis-server is installed (Debian: apt-get install redis-server)';
  if (process.env['REQUIRE_REDIS'] !== undefined) throw new Error(reason);
  console.warn(`SKIPPED: the recipe for BullMQ, ${reason}`);
}

// npm installs bullmq.
vi.setConfig({ testTimeout: 120_000 });

const TSX = ['--import', pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href];

test.runIf(hasRedis)('a job of BullMQ is reported with the request that added it', async () => {
  const redisPort = await freePort();
  const port = await freePort([redisPort]);
  const recipe = new Recipe();
  onTestFinished(() => recipe.remove());
  await recipe.install('bullmq', (code) => code.replace('3000', String(port)));
  const args = ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', ''];
  const redis = spawn('redis-server', args, { cwd: recipe.consumer.folder, stdio: 'ignore' });
  onTestFinished(() => void redis.kill('SIGKILL'));

  const env = { REDIS_URL: `redis://127.0.0.1:${redisPort}` };
  const worker = await recipe.start([...TSX, 'worker.ts'], undefined, env);
  await recipe.start([...TSX, 'web.ts'], port, env);
  const url = `http://127.0.0.1:${port}/uploads`;
  expect(await request(`${url}/tea.txt`, { method: 'POST' })).toBe('202 Accepted');
  expect(await request(`${url}/game.exe`, { method: 'POST' })).toBe('202 Accepted');
  await vi.waitUntil(() => worker.records().length > 0, { timeout: 10_000 });
  expect(await worker.stop()).toBe(0);
  expect(worker.records()).toMatchObject([
    {
      context: {
        actor: { ip: { address: '203.0.113.9' } },
        http: { request: { path: '/uploads/game.exe' } },
      },
      event_name: 'svc.ev0.threat.attack',
    },
  ]);
});
