/** A server of node:http that blocks attacks and tells of them; it visits itself, and ends. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createReporter } from 'security-event-delivery';
import { blockRequest } from 'security-event-delivery/capture';
import { captureRequests } from 'security-event-delivery/node-http';

const reporter = createReporter({
  service: { svc_id: 'files-1', name: 'files', env: 'production' },
});

/** Knows nothing of the request, but that there is one. */
function guardPath(path: string): void {
  if (path.includes('../')) blockRequest(() => reporter.attack({ ruleset: 'lfi' }));
}

const server = createServer(
  captureRequests((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
    guardPath(searchParams.get('page') ?? '');
    response.writeHead(200, { 'content-type': 'text/plain' }).end('the page');
  }),
);

server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
for (const path of ['/manuals?page=tea', '/manuals?page=../../etc/passwd']) {
  const response = await fetch(`${origin}${path}`, { headers: { 'user-agent': 'a visitor' } });
  console.error(`${response.status} ${await response.text()}: ${path}`);
}
server.close();
