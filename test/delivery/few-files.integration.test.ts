/** A sender whose process may open few files (`ulimit -n`). */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { fixtureCommand, startChild, waitForExit } from '../helpers/child-programs.ts';

const MAX_FILES = 256;
const HOST_FILES = 90;
const APPLICATIONS = 400;
const SILENT = 120;

/** Starts a receiver on all loopback addresses, in this process: its sockets do not count towards the sender's limit. */
async function startReceiver() {
  const healthy = new Set<string | undefined>();
  let open = 0;
  let mostOpen = 0;
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/silent') return;
    healthy.add(request.headers.host);
    request.once('end', () => response.end());
  });
  server.on('connection', (socket) => {
    open += 1;
    mostOpen = Math.max(mostOpen, open);
    socket.once('close', () => (open -= 1));
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { port, served: () => healthy.size, mostOpen: () => mostOpen };
}

test.skipIf(process.platform !== 'linux')(
  `a sender serves ${APPLICATIONS} destinations, ${SILENT} of them silent, when the process may open ${MAX_FILES} files (D75)`,
  async () => {
    const receiver = await startReceiver();
    const program = fixtureCommand(
      'host-with-few-files',
      [receiver.port, HOST_FILES, APPLICATIONS, SILENT].map(String),
    );
    const limits = `ulimit -n ${MAX_FILES}; ulimit -Hn ${MAX_FILES}; exec "$@"`;
    const child = startChild(['sh', '-c', limits, 'sh', ...program]);
    const { code, stdout, stderr } = await waitForExit(child);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const result = JSON.parse(stdout) as { readonly senderFiles: number };
    expect(result).toMatchObject({ delivered: APPLICATIONS - SILENT, failures: ['deadline'] });
    expect(receiver.served()).toBe(APPLICATIONS - SILENT);
    // Half of the files are left to the host: see withinOpenFiles in src/delivery/slots.ts.
    expect(receiver.mostOpen()).toBeLessThanOrEqual(MAX_FILES / 2);
    expect(result.senderFiles).toBeLessThanOrEqual(MAX_FILES / 2);
  },
  60_000,
);
