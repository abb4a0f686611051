/**
 * A web application with a security agent in it, and a webhook receiver in another process.
 *
 * Real requests make all seven events happen. Standard output carries the log records and nothing
 * else, one JSON line each (`npm start --silent | jq .`); the story is told on standard error. The
 * exit code is 1 when anything expected did not arrive.
 */
import { createLogWriter, generateSecret } from 'security-event-delivery';
import type { LogRecordInput } from 'security-event-delivery/contract';
import { createAgent } from './agent.ts';
import { startApplication } from './application.ts';
import { createDeliveries } from './deliveries.ts';
import { compareWithExpected } from './expectations.ts';
import { startReceiver } from './receiver-process.ts';
import { isAsExpected, renderTable } from './summary.ts';
import { visit } from './visitors.ts';

const TIME_LIMIT_MS = 30_000;

const tell = (text: string): boolean => process.stderr.write(`${text}\n`);

async function run(signal: AbortSignal): Promise<boolean> {
  const secret = generateSecret();
  // With another secret at the receiver nothing may arrive: a fault that the summary must not miss.
  const isWrong = process.env['EXAMPLE_FAULT'] === 'wrong-secret';
  const receiver = await startReceiver(isWrong ? generateSecret() : secret, signal);

  const log = createLogWriter();
  const written: LogRecordInput[] = [];
  // A full disk must not fail a visitor's request; the summary will tell of it.
  const onFailure = (error: unknown): boolean => tell(`agent       ${String(error)}`);
  const deliveries = createDeliveries({ url: receiver.url, secret, signal, onFailure });
  const agent = createAgent({
    service: { svc_id: 'shop-1', name: 'shop', env: 'example' },
    log: {
      write(record) {
        log.write(record);
        written.push(record);
      },
    },
    deliveries,
    onFailure,
  });
  const application = await startApplication(agent);

  await visit(application.url, signal, tell);
  const reports = await deliveries.finished();
  const receiverReport = await receiver.report();
  application.close();
  await log.close();

  const tables = compareWithExpected({ written, reports, receiverReport });
  for (const [title, lines] of Object.entries(tables)) tell(`\n${renderTable(title, lines)}`);
  return Object.values(tables).flat().every(isAsExpected);
}

const isComplete = await run(AbortSignal.timeout(TIME_LIMIT_MS));
tell(isComplete ? '\nEverything expected arrived.' : '\nSomething expected did not arrive.');
process.exitCode = isComplete ? 0 : 1;
