/** An Express application that tells of logins and attacks; it visits itself, and ends. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createReporter } from 'security-event-delivery';
import { blockRequest, identify } from 'security-event-delivery/capture';
import { answerBlocked, captureRequests } from 'security-event-delivery/express';

// Writes to standard output. Who it was and by what request, it finds out by itself.
const reporter = createReporter({ service: { svc_id: 'shop-1', name: 'shop', env: 'production' } });

const app = express();
// Before all other middleware. The proxy that this program pretends to be runs on the same machine.
app.use(captureRequests({ trustedProxies: 'loopback' }));
app.use(express.json());

app.post('/login', (request, response) => {
  const { email, password } = request.body as { email: string; password: string };
  identify({ email });
  const isWelcome = password === 'correct horse';
  reporter.userLogin({ success: isWelcome });
  response.sendStatus(isWelcome ? 204 : 401);
});

app.get('/products/:kind', (request, response) => {
  if (/union\s+select/i.test(JSON.stringify(request.query))) {
    blockRequest(() => reporter.attack({ ruleset: 'sql_injection' }));
  }
  response.send(`all ${request.params.kind}`);
});

// After all routes, and before error handlers of your own.
app.use(answerBlocked());

const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const forwarded = { 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'https' };
const login = (password: string): RequestInit => ({
  method: 'POST',
  headers: { ...forwarded, 'content-type': 'application/json' },
  body: JSON.stringify({ email: 'ada@example.com', password }),
});
const visits: readonly [string, RequestInit?][] = [
  ['/login', login('a guess')],
  ['/login', login('correct horse')],
  ['/products/tea', { headers: forwarded }],
  ['/products/tea?q=1+UNION+SELECT+1', { headers: forwarded }],
];
for (const [path, visit] of visits) {
  const { status } = await fetch(`${origin}${path}`, visit);
  console.error(`${status} ${path}`);
}
server.close();
