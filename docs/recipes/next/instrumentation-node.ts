import { capture, reporter } from './security';

interface FailedRequest {
  path: string;
  method: string;
  headers: NodeJS.Dict<string | string[]>;
}

export function reportFailure({ path, method, headers }: FailedRequest, route: string): void {
  capture.run({ url: path, method, headers }, () => {
    reporter.customEvent('request.failed', { route });
  });
}

/** Delivers the last messages. `close` takes at most 10 seconds, or 15 if the log is stalled. */
async function shutDown(): Promise<void> {
  const { failures } = await reporter.close();
  if (failures !== undefined) console.error('Not delivered:', failures);
  process.exit(0);
}
process.once('SIGINT', () => void shutDown());
process.once('SIGTERM', () => void shutDown());
