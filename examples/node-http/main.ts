/** A server of node:http reports and blocks an attack, from a function that knows nothing of requests. */
import { createReporter } from 'security-event-delivery';
import { blockRequest } from 'security-event-delivery/capture';
import { captureRequests } from 'security-event-delivery/node-http';
import { serve, visit } from '../http.ts';
import { printRecord } from '../story.ts';

const lines: string[] = [];
const reporter = createReporter({
  service: { svc_id: 'manuals-1', name: 'manuals', env: 'production' },
  log: { destination: { write: (line) => lines.push(line) } }, // default: standard output
});

function readManual(path: string): string {
  if (path.includes('../')) blockRequest(() => reporter.attack({ ruleset: 'lfi' }));
  return `the manual ${path}`;
}

const { url, close } = await serve(
  captureRequests(
    (request, response) => {
      const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
      response.end(readManual(searchParams.get('page') ?? ''));
    },
    { trustedProxies: 'loopback' },
  ),
);
await visit('203.0.113.9', `${url}/manuals?page=tea`);
await visit('203.0.113.9', `${url}/manuals?page=../../etc/passwd`);
close();
lines.forEach(printRecord);
