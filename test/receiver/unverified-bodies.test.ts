/** Unverified bodies are limited: in bytes over all connections, and in time. */
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { WebhookRequest } from '../../src/receiver/index.ts';
import { HOSTS } from '../helpers/hosts.ts';
import { BODY, bareSender, receiverOf, requestOf, signedHeaders, signedInit } from './receivers.ts';

const LENGTH = Buffer.byteLength(BODY);
const LIMITS = { maxBodyBytes: 2 * LENGTH, maxUnverifiedBytes: 2 * LENGTH };

/** Announces a body of `length` bytes, and sends only `sent`. */
async function begin(url: string, sent: string, length = LENGTH) {
  const sender = await bareSender(url);
  sender.begin({ ...signedHeaders(), 'content-length': length }, sent);
  return sender;
}

const post = async (url: string): Promise<number> => (await fetch(url, signedInit())).status;

/** Without the route handler of the tests, which cannot read a body in parts. */
const REAL_HOSTS = Object.entries(HOSTS).filter(([name]) => !name.startsWith('a route'));

describe.each(REAL_HOSTS)('on %s', (_host, start) => {
  test('an unfinished body is refused with 503 when others need its bytes', async () => {
    const { receiver, reasons } = receiverOf(LIMITS);
    const url = await start(receiver);
    const held = await begin(url, 'x'.repeat(LENGTH + 1), 2 * LENGTH);
    await expect.poll(() => post(url)).toBe(204);
    await once(held.socket, 'close');
    expect(held.answer()).toMatch(/^HTTP\/1\.1 503 .*retry-after: 5\r\n.*busy\n/is);
    expect(held.answer()).toMatch(/connection: close\r\n/i);
    expect(reasons()).toEqual(['busy']);
    expect(await post(url)).toBe(204);
  });

  test('bodies that were read, refused or aborted no longer count', async () => {
    const { receiver } = receiverOf(LIMITS);
    const url = await start(receiver);
    for (let round = 0; round < 5; round += 1) {
      expect(await post(url)).toBe(204);
      const large = await begin(url, 'x'.repeat(2 * LENGTH + 1), 2 * LENGTH + 1);
      await expect.poll(large.answer).toMatch(/^HTTP\/1\.1 413 /);
      const cut = await begin(url, 'x'.repeat(LENGTH));
      cut.socket.resetAndDestroy();
      const wrong = await begin(url, 'x'.repeat(LENGTH));
      await expect.poll(wrong.answer).toMatch(/^HTTP\/1\.1 401 /);
      for (const { socket } of [large, wrong]) socket.destroy();
    }
    expect(await post(url)).toBe(204);
  });

  test('a body that is late is refused', async () => {
    const { receiver, reasons } = receiverOf({ bodyTimeoutMs: 50 });
    const url = await start(receiver);
    const slow = await begin(url, BODY.slice(1));
    await expect.poll(slow.answer).toMatch(/^HTTP\/1\.1 408 .*body-late\n/is);
    expect(reasons()).toEqual(['body-late']);
    slow.socket.destroy();
    expect(await post(url)).toBe(204);
  });
});

test('the oldest bodies are refused, and no more than necessary', async () => {
  const { receiver, reasons } = receiverOf({ maxBodyBytes: 10, maxUnverifiedBytes: 25 });
  const dropped: string[] = [];
  const ends: (() => void)[] = [];
  const answers = ['first', 'second', 'third'].map((name) => {
    const readBody: WebhookRequest['readBody'] = (_maxBytes, reading) =>
      new Promise((resolve) => {
        reading.onRefused(() => {
          dropped.push(name);
          resolve(undefined);
        });
        expect(reading.take(name === 'third' ? 5 : 10)).toBe(true);
        ends.push(() => resolve(Buffer.from(String(reading.take(1)))));
      });
    return receiver.receive(requestOf('', { readBody }));
  });
  await Promise.resolve();
  // One more byte of the third exceeds the limit.
  ends[2]?.();
  expect(dropped).toEqual(['first']);
  ends[1]?.();
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([503, 413, 401]);
  expect([dropped, reasons().toSorted()]).toEqual([
    ['first', 'second'],
    ['body-too-large', 'busy', 'signature-wrong'],
  ]);
});
