/** What the fleet of the examples does where something is missing or over; see examples.test.ts for the rest. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ended } from '../examples/fleet/ended.ts';
import { temporaryFolder } from './helpers/temporary-folder.ts';

const start = (program: string) => spawn(process.execPath, ['--eval', program]);

test('a process that has ended is not waited for, one that runs is', async () => {
  const over = start('');
  await once(over, 'exit');
  await ended(over);
  const killed = start('setInterval(() => {}, 1000)');
  killed.kill('SIGKILL');
  await ended(killed);
  expect([over.exitCode, killed.signalCode]).toEqual([0, 'SIGKILL']);
  await ended(killed);
});

test('a cluster is refused where there is no setpriv, and nothing is left unhandled', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'nats-server'), '#!/bin/sh\n');
  chmodSync(join(folder, 'nats-server'), 0o755);
  const { PATH, NATS_SERVERS } = process.env;
  process.env['PATH'] = folder;
  delete process.env['NATS_SERVERS'];
  try {
    const { openCluster } = await import('../examples/fleet/cluster.ts');
    await expect(openCluster()).rejects.toThrow('spawn setpriv ENOENT');
  } finally {
    process.env['PATH'] = PATH;
    if (NATS_SERVERS !== undefined) process.env['NATS_SERVERS'] = NATS_SERVERS;
  }
});
