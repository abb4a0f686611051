import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { tolerateContinue } from '../../../src/webhook/http/connection.ts';

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const SKIPPED = 'HTTP/1.1 102 Continue\r\n\r\n';
const OK = 'HTTP/1.1 200 OK\r\n\r\n';

/** Returns a function that pushes a chunk into a stream and returns what can be read. */
function reading() {
  const stream = new Readable({ read() {} });
  const beginRequest = tolerateContinue(stream as Socket);
  const read = (chunk: string): string | undefined => {
    stream.push(Buffer.from(chunk, 'latin1'));
    return (stream.read() as Buffer | null)?.toString('latin1');
  };
  return { read, beginRequest };
}

describe('the bytes of a response', () => {
  test.each([
    [[CONTINUE], [SKIPPED]],
    [[CONTINUE + OK + CONTINUE], [SKIPPED + OK + CONTINUE]],
    [
      [CONTINUE + CONTINUE, CONTINUE, OK],
      [SKIPPED + SKIPPED, SKIPPED, OK],
    ],
    [
      [OK, CONTINUE],
      [OK, CONTINUE],
    ],
    [
      ['HTTP/1.1 103 Early\r\n\r\n', CONTINUE],
      ['HTTP/1.1 103 Early\r\n\r\n', SKIPPED],
    ],
    [
      [`x${CONTINUE}`, CONTINUE],
      [`x${CONTINUE}`, CONTINUE],
    ],
    [['HTTP/1.1 1000\r\n\r\n'], ['HTTP/1.1 1020\r\n\r\n']],
    [
      ['HTTP/1.0 100\r\n\r\n', CONTINUE],
      ['HTTP/1.0 100\r\n\r\n', CONTINUE],
    ],
    [
      ['HTTP/1.1 10', '0 Continue\r\n\r\n', CONTINUE],
      ['HTTP/1.1 10', '0 Continue\r\n\r\n', CONTINUE],
    ],
    [
      ['HTTP/1.1 100 Continue\r\n', `\r\n${CONTINUE}`],
      ['HTTP/1.1 102 Continue\r\n', `\r\n${CONTINUE}`],
    ],
  ])('of %j is %j', (chunks, expected) => {
    const { read } = reading();
    expect(chunks.map(read)).toEqual(expected);
  });

  test('are checked again for the next response', () => {
    const { read, beginRequest } = reading();
    expect([read(OK), read(CONTINUE)]).toEqual([OK, CONTINUE]);
    beginRequest();
    expect([read(CONTINUE), read(OK), read(CONTINUE)]).toEqual([SKIPPED, OK, CONTINUE]);
  });
});
