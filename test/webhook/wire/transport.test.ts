import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/system/clock.ts';
import { createPoster } from '../../../src/webhook/wire/post.ts';

vi.mock('../../../src/webhook/wire/load-undici.ts', () => ({
  loadUndici: () =>
    Promise.reject(Object.assign(new Error('no undici'), { code: 'ERR_MODULE_NOT_FOUND' })),
}));

test('where undici is not installed, attempts fail by its code and close has nothing to do', async () => {
  const poster = createPoster({ network: 'public', clock: systemClock });
  const request = { url: 'http://receiver.invalid/', body: Buffer.from('[]'), headers: {} };
  for (let sends = 0; sends < 2; sends += 1) {
    expect(await poster.post(request)).toMatchObject({
      kind: 'failure',
      code: 'network',
      detail: expect.stringContaining('(ERR_MODULE_NOT_FOUND)'),
    });
  }
  await expect(poster.close()).resolves.toBeUndefined();
});
