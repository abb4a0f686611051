/** Ports for programs that are told theirs, and cannot ask the system for any. */
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';

/** Whether somebody listens there. */
export async function accepts(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Below the ports that systems give to whoever connects or asks for any, and each test file's own. */
export interface PortRange {
  readonly first: number;
  readonly count: number;
}

/** One that nobody listens on; the search begins anywhere, for another run on the same machine. */
export async function freePort(
  { first, count }: PortRange,
  taken: readonly number[] = [],
): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = first + randomInt(count);
    if (!taken.includes(port) && !(await accepts(port))) return port;
  }
  throw new Error('no port is free');
}
