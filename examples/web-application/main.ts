/**
 * Two web applications with a security agent in each, and their webhook receivers: processes of their
 * own, each with its own URL and secret.
 *
 * Real requests make all seven kinds of events happen. Standard output carries the log records and
 * nothing else, one JSON line each (`npm start --silent | jq .`); the story is told on standard
 * error. The exit code is 1 when anything expected did not arrive.
 */
import { createServer } from 'node:http';
import { generateSecret, type Reporter } from 'security-event-delivery';
import { APPLICATIONS, type Application } from './applications.ts';
import { compareWithExpected } from './expectations.ts';
import { listening } from './listening.ts';
import { type ReceiverProcess, startReceiver } from './receiver-process.ts';
import { createReporting } from './reporting.ts';
import { createSettings, type Destination } from './settings.ts';
import { isAsExpected, renderTable } from './summary.ts';
import { visit } from './visitors.ts';

const TIME_LIMIT_MS = 45_000;

const tell = (text: string): boolean => process.stderr.write(`${text}\n`);

interface OtherEnd {
  readonly application: Application;
  readonly receiver: ReceiverProcess;
  readonly destination: Destination;
}

/** The receiver of an application, and what the settings must know of it. */
async function startOtherEnd(application: Application, signal: AbortSignal): Promise<OtherEnd> {
  const { svc_id: applicationId, name } = application.service;
  const secret = generateSecret();
  // With another secret at its receiver nothing of the shop may arrive: a fault that the summary must
  // not miss, and that is no business of the warehouse.
  const isWrong = process.env['EXAMPLE_FAULT'] === 'wrong-secret' && name === 'shop';
  const itsSecret = isWrong ? generateSecret() : secret;
  const receiver = await startReceiver({ name, secret: itsSecret }, signal);
  return { application, receiver, destination: { applicationId, url: receiver.url, secret } };
}

/** Opens an application to its visitors until they have left. */
async function open(
  { service, createListener, visits }: Application,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  const server = await listening(createServer(createListener(reporter)));
  const tellVisit = (text: string) => tell(`visitor     ${service.name} ${text}`);
  await visit({ url: server.url, visits, signal, tell: tellVisit });
  server.close();
  // Everything reported is with the sender now, which serves the other application, too.
  await reporter.close();
}

async function run(signal: AbortSignal): Promise<boolean> {
  const otherEnds = await Promise.all(APPLICATIONS.map((one) => startOtherEnd(one, signal)));
  const settings = createSettings(otherEnds.map(({ destination }) => destination));
  const reporting = createReporting(settings, tell);
  const all = otherEnds.map((otherEnd) => ({
    ...otherEnd,
    reporter: reporting.reporterFor(otherEnd.application.service),
  }));

  for (const { application, reporter } of all) await open(application, reporter, signal);
  await reporting.settled(signal);

  let isComplete = true;
  for (const { application, receiver, reporter } of all) {
    const { svc_id: id, name } = application.service;
    const tables = compareWithExpected(application.expected, {
      written: reporting.writtenFor(id),
      stats: reporter.stats(),
      receiver: await receiver.report(),
      undelivered: await reporting.undeliveredFor(id),
    });
    for (const [title, lines] of Object.entries(tables)) {
      tell(`\n${renderTable(`${name}: ${title}`, lines)}`);
      isComplete &&= lines.every(isAsExpected);
    }
  }
  await reporting.close();
  return isComplete;
}

const isComplete = await run(AbortSignal.timeout(TIME_LIMIT_MS));
tell(isComplete ? '\nEverything expected arrived.' : '\nSomething expected did not arrive.');
process.exitCode = isComplete ? 0 : 1;
