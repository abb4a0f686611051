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

// Delivers the last messages. `close` takes at most 10 seconds, or 15 if the log is stalled.
process.once('SIGTERM', () => void reporter.close().then(() => process.exit(0)));
