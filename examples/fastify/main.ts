/** A Fastify application reports and blocks an attack. */
import Fastify from 'fastify';
import { createReporter } from 'security-event-delivery';
import { blockRequest, identify } from 'security-event-delivery/capture';
import { captureRequests } from 'security-event-delivery/fastify';
import { visit } from '../http.ts';
import { printRecord } from '../story.ts';

const lines: string[] = [];
const reporter = createReporter({
  service: { svc_id: 'shop-1', name: 'shop', env: 'production' },
  log: { destination: { write: (line) => lines.push(line) } }, // default: standard output
});
const reportAttack = () => reporter.attack({ ruleset: 'sql_injection' });

const app = Fastify();
app.register(captureRequests, { trustedProxies: 'loopback' }); // before all other plugins

app.post<{ Body: { search: string } }>('/search/:shelf', async ({ body }) => {
  identify({ email: 'ada@example.com' }); // from your session
  if (/union select/i.test(body.search)) blockRequest(reportAttack);
  return 'nothing found';
});

const url = await app.listen({ port: 0, host: '127.0.0.1' });
await visit('203.0.113.9', `${url}/search/7`, { search: 'shoes', token: 'sesame' });
await visit('203.0.113.9', `${url}/search/7`, { search: '1 union select 2', token: 'sesame' });
await app.close();
lines.forEach(printRecord);
