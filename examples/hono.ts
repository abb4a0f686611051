/** A Hono application that reports an attack and blocks it; it asks itself, and ends. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createReporter } from 'security-event-delivery';
import { blockRequest, identify } from 'security-event-delivery/capture';
import { captureRequests } from 'security-event-delivery/hono';

const reporter = createReporter({ service: { svc_id: 'shop-1', name: 'shop', env: 'production' } });
const reportAttack = () => reporter.attack({ ruleset: 'sql_injection' });

const app = new Hono();
app.use(captureRequests({ trustedProxies: 'loopback', maxBodyBytes: 65_536 })); // before all other

app.post('/search/:shelf', async (c) => {
  identify({ email: 'ada@example.com' }); // as your session says
  const { search } = await c.req.json<{ search: string }>();
  if (/union select/i.test(search)) blockRequest(reportAttack);
  return c.text('nothing found');
});

const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
if (!server.listening) await once(server, 'listening');
const { port } = server.address() as AddressInfo;

for (const search of ['shoes', '1 UNION SELECT 1']) {
  const response = await fetch(`http://127.0.0.1:${port}/search/7`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' },
    body: JSON.stringify({ search, token: 'sesame' }),
  });
  console.error(`${response.status} ${await response.text()}`);
}
server.close();
