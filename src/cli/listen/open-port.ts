/** Where the listener is found, or why it cannot listen there. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CommandFailure, outage } from '../failure.ts';
import { printable } from '../printable.ts';

export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Gives the port that it got. @throws CommandFailure with exit code 3 */
export async function openPort(server: Server, { host, port }: Place): Promise<number> {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    throw refusedPlace((error as NodeJS.ErrnoException).code ?? 'no error code', { host, port });
  }
  return (server.address() as AddressInfo).port;
}

const ANOTHER_PORT = 'Give another one with --port; --port 0 takes any that is free.';

function refusedPlace(code: string, { host, port }: Place): CommandFailure {
  const where = printable(host);
  switch (code) {
    case 'EADDRINUSE':
      return outage(
        `port ${port} of ${where} is in use: another program listens there`,
        ANOTHER_PORT,
      );
    case 'EACCES':
      return outage(
        `listening at port ${port} is not allowed: low ports need more rights`,
        ANOTHER_PORT,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return outage(
        `${where} is no address of this machine`,
        'Use --host 127.0.0.1 for this machine alone, or --host 0.0.0.0 for its network, too.',
      );
    default:
      return outage(`listening at port ${port} of ${where} failed: ${code}`, ANOTHER_PORT);
  }
}

/** What listens at all addresses is found at its own, too. */
const ALL: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** The URL to send to, from this machine. */
export function urlOf({ host, port }: Place, path = '/'): string {
  const address = ALL[host] ?? host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}${path}`;
}

/** Whether a request to the URL would come back to the listener itself. */
export function leadsTo({ host, port }: Place, url: URL): boolean {
  const urlPort = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  const listener = urlOf({ host, port });
  // A host that is none is told of when it is to be listened at.
  const names = URL.canParse(listener) ? [new URL(listener).hostname] : [];
  const own = [...names, 'localhost', '127.0.0.1', '[::1]'];
  return urlPort === port && own.includes(url.hostname);
}
