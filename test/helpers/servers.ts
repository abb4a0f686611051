/** Starts a server of a test. */
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { onTestFinished } from 'vitest';

/** Listens on a free port until the test ends. Returns the port. */
export async function listenOn(
  server: Server & { closeAllConnections?(): void },
  host = '127.0.0.1',
): Promise<number> {
  onTestFinished(() => {
    server.close();
    server.closeAllConnections?.();
  });
  await once(server.listen(0, host), 'listening');
  return (server.address() as AddressInfo).port;
}
