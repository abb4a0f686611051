import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { createReporter } from 'security-event-delivery';

const reporter = createReporter({
  service: { svc_id: 'scanner-1', name: 'scanner', env: 'production' },
  onRejected: ({ error }) => console.error(error), // the data of a job has no types
});

const connection = new Redis(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379', {
  maxRetriesPerRequest: null, // BullMQ asks for it
});
const worker = new Worker(
  'scans',
  async ({ data }) => {
    if (data.name.endsWith('.exe')) reporter.attack({ ruleset: 'rfi' }, data.context);
  },
  { connection },
);

async function shutDown(): Promise<void> {
  await worker.close(); // finishes its job
  const { failures } = await reporter.close(); // delivers the last messages
  if (failures !== undefined) console.error('Not delivered:', failures);
  connection.disconnect();
}
process.once('SIGINT', () => void shutDown());
process.once('SIGTERM', () => void shutDown());
