import { beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { createPoster } from '../../../src/webhook/http/client.ts';
import { loadUndici } from '../../../src/webhook/http/load-undici.ts';

vi.mock('../../../src/webhook/http/load-undici.ts', () => ({
  loadUndici: vi.fn<typeof loadUndici>(() =>
    Promise.reject(Object.assign(new Error('no undici'), { code: 'ERR_MODULE_NOT_FOUND' })),
  ),
}));

const REQUEST = { url: 'http://receiver.invalid/', body: Buffer.from('[]'), headers: {} };

beforeEach(() => {
  vi.mocked(loadUndici).mockClear();
});

test('where undici is not installed, attempts fail by its code and close has nothing to do', async () => {
  const poster = createPoster({ network: 'public', clock: systemClock });
  for (let sends = 0; sends < 2; sends += 1) {
    expect(await poster.post(REQUEST)).toMatchObject({
      kind: 'failure',
      code: 'network',
      detail: expect.stringContaining('(ERR_MODULE_NOT_FOUND)'),
    });
  }
  await expect(poster.close()).resolves.toBeUndefined();
  expect(loadUndici).toHaveBeenCalledTimes(1);
});

test('undici is not loaded for an attempt that is over before it starts', async () => {
  const poster = createPoster({ network: 'public', clock: systemClock });
  const aborted = await poster.post({ ...REQUEST, signal: AbortSignal.abort() });
  await poster.close();
  const closed = await poster.post(REQUEST);
  expect([aborted, closed]).toMatchObject([{ code: 'aborted' }, { code: 'aborted' }]);
  expect(loadUndici).not.toHaveBeenCalled();
});
