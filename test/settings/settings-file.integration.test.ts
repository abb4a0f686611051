import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runFixture } from '../helpers/child-programs.ts';
import { temporaryFolder } from '../helpers/temporary-files.ts';

test('a watched file does not keep the process alive', async () => {
  const path = join(temporaryFolder(), 'settings.json');
  const shop = {
    name: 'shop',
    environment: 'production',
    url: 'https://receiver.example/hook',
    secret: 'a secret',
  };
  writeFileSync(path, JSON.stringify({ applications: { shop } }));
  const { exitCode, stdout, lingeredMs } = await runFixture('idle-settings-watcher', [path]);
  expect([exitCode, stdout]).toEqual([0, 'shop\n']);
  // It polls every 10 ms, and would live for ever.
  expect(lingeredMs).toBeLessThan(700);
});
