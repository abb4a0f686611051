import { AsyncLocalStorage } from 'node:async_hooks';
import type { Dispatcher } from 'undici';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/runtime/clock.ts';
import { isOwnWork } from '../../../src/runtime/untraced.ts';
import { createPoster } from '../../../src/webhook/http/client.ts';
import { removeTracers, setTracers } from '../../helpers/replaced-globals.ts';

const REQUEST = { url: new URL('http://receiver.invalid/'), body: Buffer.from('[]'), headers: {} };

/** A context that is what was last set in it. */
const active = () => ({ setValue: (_key: symbol, value: unknown) => value });

afterEach(removeTracers);

test('each attempt is our own work, and suppressed with tracers that came later than its poster', async () => {
  const host = new AsyncLocalStorage<string>();
  const suppressed = new AsyncLocalStorage<unknown>();
  const seen: unknown[] = [];
  // The host's own, which is called from within the attempt.
  const dispatcher = {
    request: async () => {
      seen.push([isOwnWork(), host.getStore(), suppressed.getStore()]);
      throw new Error('nobody is there');
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
  expect(seen).toEqual([
    [true, undefined, undefined],
    [true, undefined, true],
  ]);
  expect(result).toMatchObject({ kind: 'failure' });
});
