/** Runs receiver.ts as a process of its own, as a receiver is in life. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ReceiverReport } from './receiver.ts';

export interface ReceiverProcess {
  readonly url: string;
  /** Asks what it accepted; it ends after that. */
  report(): Promise<ReceiverReport>;
}

export interface ReceiverOptions {
  /** Whose messages it receives. */
  readonly name: string;
  readonly secret: string;
}

/** Waiting rejects when `signal` is aborted, and when the process ends early. */
export async function startReceiver(
  { name, secret }: ReceiverOptions,
  signal: AbortSignal,
): Promise<ReceiverProcess> {
  const settings = { RECEIVER_NAME: name, WEBHOOK_SECRET: secret };
  const child = fork(fileURLToPath(new URL('./receiver.ts', import.meta.url)), {
    env: { ...process.env, ...settings },
    // Standard output belongs to the records.
    stdio: ['ignore', 2, 2, 'ipc'],
  });
  const ended = new AbortController();
  child.once('error', (error) => ended.abort(error));
  child.once('exit', () => ended.abort(new Error('the receiver ended early')));

  const nextMessage = async (): Promise<unknown> => {
    const [message] = await once(child, 'message', {
      signal: AbortSignal.any([signal, ended.signal]),
    });
    return message;
  };
  return {
    url: (await nextMessage()) as string,
    report() {
      child.send('report');
      return nextMessage() as Promise<ReceiverReport>;
    },
  };
}
