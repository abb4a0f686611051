/** The receiver: it is slow, refuses every fifth request, and counts how often each message arrives. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { verify } from 'security-event-delivery';
import { received } from 'security-event-delivery/contract';

export interface Receiver {
  readonly url: string;
  /** By message id: how often each one was taken, and its highest `retry_count`. */
  readonly taken: ReadonlyMap<string, { times: number; retryCount: number }>;
  refused: number;
  /** Resolves when a request is being answered, to its sender's name. */
  busy(): Promise<string>;
  close(): void;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function startReceiver(secret: string): Promise<Receiver> {
  const taken = new Map<string, { times: number; retryCount: number }>();
  let requests = 0;
  let reportBusy: ((sender: string) => void) | undefined;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    requests += 1;
    if (!verify(body, request.headers['x-svc-integrity'], secret)) {
      response.writeHead(401).end();
      return;
    }
    if (requests % 5 === 0) {
      receiver.refused += 1;
      response.writeHead(503).end();
      return;
    }
    for (const message of received.WebhookBodyV2.parse(JSON.parse(body.toString()))) {
      const { message_id, retry_count: retryCount } = message;
      const id = String(message_id);
      const before = taken.get(id) ?? { times: 0, retryCount: 0 };
      taken.set(id, {
        times: before.times + 1,
        retryCount: Math.max(before.retryCount, retryCount),
      });
    }
    // It has the messages, and the sender does not know it yet.
    reportBusy?.(request.headers['user-agent'] ?? '');
    await wait(100);
    response.writeHead(204).end();
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken,
    refused: 0,
    busy: () =>
      new Promise((resolve) => {
        reportBusy = resolve;
      }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return receiver;
}
