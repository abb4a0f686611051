/** Memory that bodies with wrong signatures can use, measured in a child process. */
import net from 'node:net';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { fixtureCommand, startChild } from '../helpers/child-programs.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';

const BODY_BYTES = 2 ** 21;
/** The default. */
const MAX_UNVERIFIED_BYTES = 2 ** 26;

/** Sends all but the last byte of a body, and keeps the status of its answer. */
class Holder {
  status: string | undefined;
  readonly socket: net.Socket;

  constructor(port: number) {
    this.socket = net.connect(port, '127.0.0.1');
    this.socket.on('error', () => {});
    this.socket.setEncoding('latin1').once('data', (text: string) => {
      this.status = /^HTTP\/1\.1 (\d+)/.exec(text)?.[1];
    });
    const head = [
      'POST / HTTP/1.1',
      'host: a',
      'content-type: application/json',
      `x-svc-integrity: ${'0'.repeat(64)}`,
      `content-length: ${BODY_BYTES}`,
    ];
    this.socket.write(`${head.join('\r\n')}\r\n\r\n`);
    this.socket.write(Buffer.alloc(BODY_BYTES - 1, 'x'));
  }
}

test('bodies with wrong signatures on many connections use bounded memory', async () => {
  const child = startChild(fixtureCommand('receiver-memory'), ['pipe', 'pipe', 'inherit']);
  const output = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const lines = output[Symbol.asyncIterator]();
  const port = Number((await lines.next()).value);
  const count = quickOrNightly(150, 400);
  const holders = Array.from({ length: count }, () => new Holder(port));
  const countOf = (status: string) => holders.filter((holder) => holder.status === status).length;
  const kept = MAX_UNVERIFIED_BYTES / BODY_BYTES;
  await expect.poll(() => countOf('503'), { timeout: 30_000 }).toBe(count - kept);
  for (const { socket } of holders) socket.write('x');
  await expect.poll(() => countOf('401'), { timeout: 30_000 }).toBe(kept);
  for (const { socket } of holders) socket.destroy();
  child.stdin?.end();
  const grownBytes = Number((await lines.next()).value);
  // The unverified bodies, their copies while they are joined, and socket buffers.
  expect(grownBytes).toBeLessThan(4 * MAX_UNVERIFIED_BYTES);
}, 90_000);
