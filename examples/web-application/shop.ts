/** A protected application on Express: a small shop. */
import express, { type Express } from 'express';
import type { Reporter } from 'security-event-delivery';
import { identify } from 'security-event-delivery/capture';
import { answerBlocked, captureRequests } from 'security-event-delivery/express';
import { createGuard } from './guard.ts';

export function createShop(reporter: Reporter): Express {
  const guard = createGuard(reporter);
  const app = express();
  // Before all other middleware. The visitors come through a proxy on the same machine.
  app.use(captureRequests({ trustedProxies: 'loopback' }));
  app.use(express.json());
  app.use((request, _response, next) => {
    guard.checkQuery(request.originalUrl);
    next();
  });

  app.get('/products', (_request, response) => {
    response.sendStatus(200);
  });
  app.get('/manuals', (request, response) => {
    guard.checkFile('manuals', fieldsOf(request.query)['page'] ?? '');
    response.sendStatus(200);
  });
  // Reported once it is answered, these records have the status of the answer.
  app.post('/signup', (request, response) => {
    const { email = '' } = fieldsOf(request.body);
    identify({ email });
    response.sendStatus(201);
    reporter.userSignup({ success: true });
  });
  app.post('/login', (request, response) => {
    const { email = '', password } = fieldsOf(request.body);
    identify({ email });
    const success = password === 'correct horse battery staple';
    response.sendStatus(success ? 200 : 401);
    reporter.userLogin({ success });
  });
  app.post('/orders', (request, response) => {
    const { product = '' } = fieldsOf(request.body);
    response.sendStatus(201);
    reporter.customEvent('order.placed', { product });
  });

  // After all routes, and before error handlers of your own.
  app.use(answerBlocked());
  return app;
}

/** The fields of a body or a query, as text: a visitor may send anything. */
const fieldsOf = (given: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(Object(given)).map(([name, value]) => [name, String(value)]));
