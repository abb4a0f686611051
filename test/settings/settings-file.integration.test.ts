import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runFixture } from '../helpers/child-programs.ts';

test('a watched file does not keep the process alive', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'settings-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'settings.json');
  const shop = {
    name: 'shop',
    environment: 'production',
    url: 'https://receiver.example/hook',
    secret: 'a secret',
  };
  writeFileSync(path, JSON.stringify({ applications: { shop } }));
  const { exitCode, stdout, lingeredMs } = await runFixture('idle-settings-watcher', [path]);
  expect([exitCode, stdout]).toEqual([0, 'shop\n']);
  expect(lingeredMs).toBeLessThan(700);
});
