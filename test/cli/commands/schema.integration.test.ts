import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../helpers/package-files.ts';
import { runCommand } from '../../helpers/terminal.ts';

describe('schema', () => {
  it.each([
    [['schema', 'log-record'], 'log-record.strict.emitted.json'],
    [
      ['schema', 'webhook-body-v2', '--reading', 'received', '--dialect=open'],
      'webhook-body-v2.open.received.json',
    ],
  ])('%j prints the file %s', async (words, name) => {
    expect(readdirSync(join(root, 'schemas'))).toContain(name);
    expect(await runCommand(words)).toEqual({
      exitCode: 0,
      stdout: readFileSync(join(root, 'schemas', name), 'utf8'),
      stderr: '',
    });
  });
});
