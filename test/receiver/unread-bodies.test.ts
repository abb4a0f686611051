/** Requests that are refused before their body is read. The sender gets the reason. */
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { sign } from '../../src/webhook/signature.ts';
import { HOSTS } from '../helpers/hosts.ts';
import { BODY, bareSender, receiverOf, requestOf, SECRET, signedHeaders } from './receivers.ts';

const GENUINE = sign(BODY, SECRET);

async function answerTo(signature: string | undefined) {
  const reported: string[] = [];
  const { receiver, refusals } = receiverOf({
    secret: () => {
      reported.push('secret');
      return SECRET;
    },
  });
  const readBody = async () => {
    reported.push('body');
    return Buffer.from(BODY);
  };
  const headers = { 'x-svc-integrity': signature };
  const { status } = await receiver.receive(requestOf(BODY, { headers, readBody }));
  return { status, reported, refusals };
}

describe('a body', () => {
  test.each([
    ['no signature', undefined, 'signature-missing'],
    ['a signature that is cut', GENUINE.slice(1), 'signature-wrong'],
  ])('with %s is not read, and the secret is not requested', async (_what, signature, reason) => {
    const { status, reported, refusals } = await answerTo(signature);
    expect([status, reported, refusals]).toEqual([401, [], [{ reason, status: 401, signature }]]);
  });

  test.each([
    ['in upper case', GENUINE.toUpperCase()],
    ['with a prefix', `sha256=${GENUINE}`],
    ['of another body', sign('', SECRET)],
  ])('whose signature is %s is read, so that it can be explained', async (_how, signature) => {
    const { reported, refusals } = await answerTo(signature);
    expect(reported).toEqual(['secret', 'body']);
    expect(refusals).toEqual([
      { reason: 'signature-wrong', status: 401, signature, body: Buffer.from(BODY) },
    ]);
  });
});

const JSON_TYPE = { 'content-type': 'application/json' };
const LARGE = 'x'.repeat(2 ** 20);

/** More than the limit of a body. */
const TOO_LARGE = 2 ** 24;

/** Hosts that drop the rest of a body; the route handler of the tests cannot. */
const REAL_HOSTS = Object.entries(HOSTS).filter(([name]) => !name.startsWith('a route'));

describe.each(REAL_HOSTS)('on %s, a sender whose body is not read', (_host, start) => {
  test('gets the reason before it has sent its body, and can send the next request', async () => {
    const { receiver, handled } = receiverOf();
    const { socket, begin, answer } = await bareSender(await start(receiver));
    begin({ ...JSON_TYPE, 'content-length': LARGE.length });
    await expect.poll(answer).toMatch(/^HTTP\/1\.1 401 .*signature-missing/s);
    socket.write(LARGE);
    begin({ ...signedHeaders(), 'content-length': Buffer.byteLength(BODY) }, BODY);
    await expect.poll(answer).toContain('HTTP/1.1 204 ');
    socket.destroy();
    await receiver.idle();
    expect(handled).toEqual(['a']);
  });

  test('that is too large gets a response that closes the connection', async () => {
    const { socket, begin, answer } = await bareSender(await start(receiverOf().receiver));
    const closed = once(socket, 'close');
    begin({ ...signedHeaders(), 'content-length': TOO_LARGE });
    await closed;
    expect(answer()).toMatch(/^HTTP\/1\.1 413 .*connection: close.*body-too-large/is);
  });

  test('that sends chunks is answered, and its connection closed', async () => {
    const { socket, begin, answer } = await bareSender(await start(receiverOf().receiver));
    const closed = new Promise((resolve) => void socket.once('close', resolve));
    begin({ ...JSON_TYPE, 'transfer-encoding': 'chunked' }, '5\r\n12345\r\n');
    await expect.poll(answer).toMatch(/^HTTP\/1\.1 401 .*connection: close.*signature-missing/is);
    const sending = setInterval(() => socket.write(`1000\r\n${'x'.repeat(0x1000)}\r\n`), 1);
    await closed;
    clearInterval(sending);
    expect(socket.destroyed).toBe(true);
  });
});
