import { Queue } from 'bullmq';
import express from 'express';
import { Redis } from 'ioredis';
import { currentContext } from 'security-event-delivery/capture';
import { captureRequests } from 'security-event-delivery/express';

const connection = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
const scans = new Queue('scans', { connection });

const app = express();
app.use(captureRequests({ trustedProxies: 'loopback' }));
app.post('/uploads/:name', async (request, response) => {
  // The job gets the client, the user and the request, with secrets redacted, as JSON.
  await scans.add('scan', { name: request.params.name, context: currentContext() });
  response.sendStatus(202);
});
app.listen(3000, '127.0.0.1');
