/** Destinations of the host on named pipes. */
import { closeSync, constants, openSync } from 'node:fs';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createLogWriter } from '../../src/log/writer.ts';
import { smallRecord } from '../helpers/log-records.ts';
import { namedPipe, stalledPipe } from '../helpers/temporary-files.ts';
import { thrownBy } from '../helpers/thrown-by.ts';

test('a pino destination whose pipe broke fails every time, not just once', async () => {
  const path = namedPipe();
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stream = pino.destination({ dest: path, sync: true });
  const writer = createLogWriter({ destination: stream });
  closeSync(reader);
  expect(thrownBy(() => writer.write(smallRecord())).cause).toMatchObject({ code: 'EPIPE' });
  for (const failed of [2, 3]) {
    const error = thrownBy(() => writer.write(smallRecord()));
    expect(error).toMatchObject({
      code: 'ERR_WRITE_FAILED',
      cause: { message: expect.stringContaining('its pipe broke') as string },
    });
    expect(await writer.stats()).toMatchObject({ failed, written: 0 });
  }
});

test('a pino destination on a pipe is flushed, although a pipe cannot be synced', async () => {
  const { path } = stalledPipe();
  const stream = pino.destination({ dest: path, sync: false, minLength: 4096 });
  await new Promise((resolve) => stream.once('ready', resolve));
  const writer = createLogWriter({ destination: stream, sync: false });
  writer.write(smallRecord());
  await writer.close();
  expect(await writer.stats()).toMatchObject({ written: 1, lastError: undefined });
});
