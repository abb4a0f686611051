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

// Delivers the last messages, within the 10 seconds that `close` takes at most.
process.once('SIGTERM', () => void reporter.close().then(() => process.exit(0)));
