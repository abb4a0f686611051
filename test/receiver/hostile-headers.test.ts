/** Hostile headers: each request is answered. */
import { once } from 'node:events';
import net from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sign } from '../../src/webhook/signature.ts';
import { HOSTS } from '../helpers/hosts.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { BODY, receiverOf, SECRET } from './receivers.ts';

const GENUINE = sign(BODY, SECRET);

/** Parts of valid headers in any order. */
const wordsOf = (...words: readonly string[]) =>
  fc.array(fc.constantFrom(...words), { maxLength: 6 }).map((parts) => parts.join(''));

const anyValue = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constant(undefined));

const SOME: Readonly<Record<string, fc.Arbitrary<string | undefined>>> = {
  'content-type': fc.oneof(
    { weight: 6, arbitrary: fc.constant('application/json') },
    wordsOf('application/json', ';', ' ', 'charset', '=', '"', 'utf-8', 'text/plain', ','),
    anyValue,
  ),
  'content-encoding': fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    wordsOf('identity', 'gzip', ',', ' '),
    anyValue,
  ),
  'content-length': fc.oneof(
    { weight: 6, arbitrary: fc.constant(String(Buffer.byteLength(BODY))) },
    fc.constantFrom('-1', '1e9', '0x10', 'NaN', '99999999999999999999', ' 5 ', ''),
    anyValue,
  ),
  'transfer-encoding': fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    wordsOf('chunked', 'gzip', ',', ' '),
  ),
  'x-svc-integrity': fc.oneof(
    { weight: 4, arbitrary: fc.constant(GENUINE) },
    wordsOf('sha256', '=', GENUINE, GENUINE.toUpperCase(), ' ', ',', '\0', 'é'),
    fc.stringMatching(/^[0-9a-f]{62,66}$/),
    fc.constant('a-'.repeat(8000)),
    anyValue,
  ),
};

const anyHeaders = fc.record(SOME) as fc.Arbitrary<Record<string, string | undefined>>;
const anyMethod = fc.oneof({ weight: 9, arbitrary: fc.constant('POST') }, anyValue);

test('any headers get an answer, and only valid ones are accepted', async () => {
  const { receiver, errors } = receiverOf({ duplicates: false });
  const [statuses, taken] = [new Set<number>(), new Set<string | undefined>()];
  await fc.assert(
    fc.asyncProperty(anyMethod, anyHeaders, async (method, headers) => {
      const { status, handle } = await receiver.receive({
        method,
        header: (name) => headers[name],
        readBody: async () => Buffer.from(BODY),
      });
      await handle?.();
      statuses.add(status);
      if (status === 204) taken.add(headers['x-svc-integrity']);
    }),
    { numRuns: quickOrNightly(2000, 100_000), seed: 7 },
  );
  expect(statuses).toEqual(new Set([204, 401, 405, 413, 415]));
  expect(taken).toEqual(new Set([GENUINE]));
  expect(errors).toEqual([]);
}, 300_000);

/** Returns the status of the first response, or undefined without one. */
async function statusOf(url: URL, bytes: Buffer): Promise<number | undefined> {
  const socket = net.connect(Number(url.port), '127.0.0.1');
  // A server that refuses a head may close before it has read all of it.
  socket.on('error', () => {});
  const closed = once(socket, 'close');
  let text = '';
  const isAnswered = new Promise((resolve) => {
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      resolve(true);
    });
  });
  socket.write(bytes);
  // If the head announces more than was sent, the server waits. It has read these bytes before it answers `fetch`.
  await Promise.race([isAnswered, closed, fetch(url)]);
  socket.end();
  await closed;
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(text) ?? [];
  return status === undefined ? undefined : Number(status);
}

const bytesOf = (
  method: string | undefined,
  headers: Record<string, string | undefined>,
): Buffer => {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}\r\n`],
  );
  return Buffer.from(
    `${method ?? ''} /hooks/security HTTP/1.1\r\nhost: a\r\n${lines.join('')}\r\n${BODY}`,
  );
};

test('the server survives any bytes, and accepts a genuine request', async () => {
  const { receiver, errors } = receiverOf({ duplicates: false });
  const start = HOSTS['node:http'] as (typeof HOSTS)[string];
  const url = new URL(await start(receiver));
  const statuses = new Set<number | undefined>();
  await fc.assert(
    fc.asyncProperty(anyMethod, anyHeaders, async (method, headers) => {
      statuses.add(await statusOf(url, bytesOf(method, headers)));
    }),
    { numRuns: quickOrNightly(200, 2000), seed: 7 },
  );
  // 400 comes from Node's parser.
  expect([400, 401, 415].filter((status) => !statuses.has(status))).toEqual([]);
  const headers = { 'content-type': 'application/json', 'x-svc-integrity': GENUINE };
  const genuine = { ...headers, 'content-length': String(Buffer.byteLength(BODY)) };
  expect(await statusOf(url, bytesOf('POST', genuine))).toBe(204);
  expect(errors).toEqual([]);
}, 300_000);
