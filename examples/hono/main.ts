/** A Hono application on Node.js reports and blocks an attack. */
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createReporter } from 'security-event-delivery';
import { blockRequest, identify } from 'security-event-delivery/capture';
import { captureRequests } from 'security-event-delivery/hono';
import { listening, visit } from '../http.ts';
import { printRecord } from '../story.ts';

const lines: string[] = [];
const reporter = createReporter({
  service: { svc_id: 'shop-1', name: 'shop', env: 'production' },
  log: { destination: { write: (line) => lines.push(line) } }, // default: standard output
});
const reportAttack = () => reporter.attack({ ruleset: 'sql_injection' });

const app = new Hono();
// Before all other middleware. `maxBodyBytes` collects forms and JSON.
app.use(captureRequests({ trustedProxies: 'loopback', maxBodyBytes: 65_536 }));

app.post('/search/:shelf', async (c) => {
  identify({ email: 'ada@example.com' }); // from your session
  const { search } = await c.req.json<{ search: string }>();
  if (/union select/i.test(search)) blockRequest(reportAttack);
  return c.text('nothing found');
});

const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
const { url, close } = await listening(server as Server);
await visit('203.0.113.9', `${url}/search/7`, { search: 'shoes', token: 'sesame' });
await visit('203.0.113.9', `${url}/search/7`, { search: '1 union select 2', token: 'sesame' });
close();
lines.forEach(printRecord);
