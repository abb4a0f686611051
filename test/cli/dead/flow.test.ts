import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLevelQueue } from '../../../src/queue/level.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { DELIVERED_ONCE, wholeFlow } from './whole-flow.ts';

test('what a service with a folder could not deliver is replayed and delivered once', async () => {
  const folder = join(temporaryFolder(), 'queue');
  const open = () => createLevelQueue({ folder, sync: false });
  expect(await wholeFlow({ open, words: ['--level', folder], environment: {} })).toEqual(
    DELIVERED_ONCE,
  );
});
