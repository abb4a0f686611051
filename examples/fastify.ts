/** A Fastify application that reports an attack and blocks it; it asks itself, and ends. */
import Fastify from 'fastify';
import { createReporter } from 'security-event-delivery';
import { blockRequest, identify } from 'security-event-delivery/capture';
import { captureRequests } from 'security-event-delivery/fastify';

const reporter = createReporter({ service: { svc_id: 'shop-1', name: 'shop', env: 'production' } });
const reportAttack = () => reporter.attack({ ruleset: 'sql_injection' });

const app = Fastify();
app.register(captureRequests, { trustedProxies: 'loopback' }); // before all other plugins

app.post<{ Body: { search: string } }>('/search/:shelf', async ({ body }) => {
  identify({ email: 'ada@example.com' }); // as your session says
  if (/union select/i.test(body.search)) blockRequest(reportAttack);
  return 'nothing found';
});

const url = await app.listen({ port: 0, host: '127.0.0.1' });

for (const search of ['shoes', '1 UNION SELECT 1']) {
  const response = await fetch(`${url}/search/7`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' },
    body: JSON.stringify({ search, token: 'sesame' }),
  });
  console.error(`${response.status} ${await response.text()}`);
}
await app.close();
