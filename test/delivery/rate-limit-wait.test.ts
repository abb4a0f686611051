import { expect, test } from 'vitest';
import { sign } from '../../src/webhook/signature.ts';
import { startEngine } from '../helpers/fake-engine.ts';
import { message } from '../helpers/sender.ts';

const PARTS = { name: 'shop', environment: 'test', maxRequestsPerSecond: 2 };
const OLD = { ...PARTS, url: 'https://one.example/', secret: 'the old secret' };
const NEW = { ...PARTS, url: 'https://one.example/new', secret: 'the new secret' };

test('a request that waited for its rate limit uses the settings of the time when it is sent', async () => {
  let shop: typeof OLD | typeof NEW = OLD;
  const { sender, clock, poster } = startEngine({
    destination: { settings: () => shop },
    options: { maxMessages: 1 },
  });
  await sender.send([message('m-1'), message('m-2')]);
  // The second request is claimed early, and waits for its turn at 500 ms.
  await clock.advance(495);
  expect(poster.posts).toHaveLength(1);
  shop = NEW;
  await clock.advance(5);
  const { request, atMs } = poster.posts[1] ?? {};
  expect(atMs).toBe(500);
  expect(String(request?.url)).toBe(NEW.url);
  expect(request?.headers['X-Svc-Integrity']).toBe(sign(request?.body as Buffer, NEW.secret));
});
