/** Makes undici skip 100 (Continue) as it skips all other interim responses. */
import type { Socket } from 'node:net';

/**
 * Some receivers, and proxies before them, say 100 to whoever did not ask for it. undici ends their
 * connection: the attempt has failed though its messages were taken, and they would be sent again
 * until the horizon. RFC 9110 section 15.2 wants any interim response to be expected; undici does
 * so with the others, and gets to see a 102 here. Split over two chunks, a head stays what it is.
 */
export function tolerateContinue(socket: Socket): { readonly renew: () => void } {
  let isBeforeResponse = true;
  const read = socket.read.bind(socket);
  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size);
    if (isBeforeResponse && Buffer.isBuffer(chunk)) isBeforeResponse = hasOnlyInterim(chunk);
    return chunk;
  };
  return {
    renew: () => {
      isBeforeResponse = true;
    },
  };
}

const INTERIM = /^HTTP\/1\.1 1\d\d$/;
const STATUS_LENGTH = 'HTTP/1.1 100'.length;
const HEAD_END = '\r\n\r\n';

/** Whether the response is still to come; each 100 before it becomes a 102. */
function hasOnlyInterim(bytes: Buffer): boolean {
  let at = 0;
  while (at < bytes.length) {
    const status = bytes.toString('latin1', at, at + STATUS_LENGTH);
    if (!INTERIM.test(status)) return false;
    if (status.endsWith('100')) bytes.write('2', at + STATUS_LENGTH - 1, 'latin1');
    const end = bytes.indexOf(HEAD_END, at, 'latin1');
    if (end < 0) return false;
    at = end + HEAD_END.length;
  }
  return true;
}
