/** Logins that Passport decides are reported without code in the routes. */
import express from 'express';
import passport from 'passport';
import { Strategy } from 'passport-local';
import { createReporter } from 'security-event-delivery';
import { captureRequests } from 'security-event-delivery/express';
import { reportLogins } from 'security-event-delivery/passport';
import { serve, visit } from '../http.ts';
import { printRecord } from '../story.ts';

const lines: string[] = [];
const reporter = createReporter({
  service: { svc_id: 'shop-1', name: 'shop', env: 'production' },
  log: { destination: { write: (line) => lines.push(line) } }, // default: standard output
});

passport.use(
  new Strategy((username, password, done) => {
    const isAda = username === 'ada' && password === 'open sesame'; // your user table
    done(null, isAda ? { id: 7, email: 'ada@example.com' } : false);
  }),
);
reportLogins(passport, { reporter });

const app = express();
app.use(captureRequests({ trustedProxies: 'loopback' }), express.json());
app.post('/login', passport.authenticate('local', { session: false }), (_request, response) => {
  response.send('welcome');
});

const { url, close } = await serve(app);
await visit('203.0.113.9', `${url}/login`, { username: 'ada', password: 'a guess' });
await visit('203.0.113.9', `${url}/login`, { username: 'ada', password: 'open sesame' });
close();
lines.forEach(printRecord);
