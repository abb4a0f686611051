import { describe, expect, test } from 'vitest';
import { refuseNetwork } from '../../../src/queue/sqlite/worker/open.ts';

describe('a file system', () => {
  test.each([
    ['NFS', 0x6969],
    ['SMB', 0x517b],
    ['SMB', 0xfe534d42],
    ['CIFS', 0xff534d42],
  ])('is refused when it is %s', (name, type) => {
    const asked: string[] = [];
    const statfs = (folder: string) => {
      asked.push(folder);
      return { type };
    };
    expect(() => refuseNetwork('/share/queue.db', statfs)).toThrow(
      expect.objectContaining({
        code: 'ERR_QUEUE_FAILED',
        message: `the file is on a network file system (${name}): use a local disk`,
      }),
    );
    expect(asked).toEqual(['/share']);
  });

  test('is accepted when it is local', () => {
    expect(() => refuseNetwork('/disk/queue.db', () => ({ type: 0xef53 }))).not.toThrow();
  });
});
