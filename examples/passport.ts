/** Logins of Passport, reported without code in the routes; the application asks itself, and ends. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import passport from 'passport';
import { Strategy } from 'passport-local';
import { createReporter } from 'security-event-delivery';
import { captureRequests } from 'security-event-delivery/express';
import { reportLogins } from 'security-event-delivery/passport';

const reporter = createReporter({ service: { svc_id: 'shop-1', name: 'shop', env: 'production' } });

passport.use(
  new Strategy((username, password, done) => {
    const isAda = username === 'ada' && password === 'open sesame'; // as your user table says
    done(null, isAda ? { id: 7, email: 'ada@example.com' } : false);
  }),
);
reportLogins(passport, { reporter });

const app = express();
app.use(captureRequests({ trustedProxies: 'loopback' }), express.json());
app.post('/login', passport.authenticate('local', { session: false }), (_request, response) => {
  response.send('welcome');
});

const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;

for (const password of ['a guess', 'open sesame']) {
  const response = await fetch(`http://127.0.0.1:${port}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' },
    body: JSON.stringify({ username: 'ada', password }),
  });
  console.error(`${response.status} ${await response.text()}`);
}
server.close();
