import { AsyncLocalStorage } from 'node:async_hooks';
import type { Dispatcher } from 'undici';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { isOwnWork, untraced } from '../../../src/runtime/untraced.ts';
import { createPoster } from '../../../src/webhook/http/client.ts';
import { removeTracers, setTracers } from '../../helpers/replaced-globals.ts';

const REQUEST = { url: new URL('http://receiver.invalid/'), body: Buffer.from('[]'), headers: {} };

/** A fake context whose value is the last one set. */
const active = () => ({ setValue: (_key: symbol, value: unknown) => value });

afterEach(removeTracers);

test('each attempt runs outside the contexts of the host and its tracers, even ones set later', async () => {
  const host = new AsyncLocalStorage<string>();
  const suppressed = new AsyncLocalStorage<unknown>();
  const seen: unknown[] = [];
  // A dispatcher of the host, called within the attempt.
  const dispatcher = {
    request: async () => {
      seen.push([isOwnWork(), host.getStore(), suppressed.getStore()]);
      throw new Error('no receiver');
    },
  } as unknown as Dispatcher;
  const post = await host.run('of the request', async () => {
    const poster = createPoster({ network: 'delegated', dispatcher, clock: systemClock });
    onTestFinished(() => poster.close());
    return () => poster.post(REQUEST);
  });
  await host.run('of the request', post);
  setTracers({
    otel: {
      context: { active, with: (value: unknown, work: () => void) => suppressed.run(value, work) },
    },
  });
  const result = await host.run('of the request', post);
  removeTracers();
  // A settings function of the host may do this.
  await untraced(() => {
    host.enterWith('of the settings');
    return post();
  });
  expect(seen).toEqual([
    [true, undefined, undefined],
    [true, undefined, true],
    [true, undefined, undefined],
  ]);
  expect(result).toMatchObject({ kind: 'failure' });
});
