/** undici's own Agent over the guarded connector, and what its tests need around it. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import dns from 'node:dns';
import net from 'node:net';
import { Agent, buildConnector, type Dispatcher, request } from 'undici';
import { onTestFinished } from 'vitest';
import {
  createGuardedConnect,
  type GuardedConnectOptions,
  type LookupAll,
} from '../../src/webhook/http/connector.ts';
import { type Receiver, startReceiver } from './receiver.ts';

/** Answers from a table, and counts how often it was asked. */
export function resolver(names: Readonly<Record<string, readonly string[]>>) {
  const asked: string[] = [];
  const lookup: LookupAll = (hostname, options, callback) => {
    asked.push(hostname);
    const addresses = names[hostname];
    if (addresses === undefined) dns.lookup(hostname, options, callback);
    else
      callback(
        null,
        addresses.map((address) => ({ address, family: net.isIP(address) })),
      );
  };
  return { asked, lookup };
}

export function guardedAgent(options: GuardedConnectOptions, more: Agent.Options = {}): Agent {
  const connect = createGuardedConnect(buildConnector, options);
  const agent = new Agent({ ...more, connect, keepAliveTimeout: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
}

/** What a POST comes to: its status, or the error. */
export async function post(url: string, dispatcher: Dispatcher): Promise<number | Error> {
  try {
    const response = await request(url, { method: 'POST', body: 'secret', dispatcher });
    await response.body.dump();
    return response.statusCode;
  } catch (error) {
    return error as Error;
  }
}

export async function codeOf(url: string, dispatcher: Dispatcher): Promise<unknown> {
  const result = await post(url, dispatcher);
  return typeof result === 'number' ? result : (result as NodeJS.ErrnoException).code;
}

export async function startCanary(host = '127.0.0.1'): Promise<Receiver> {
  const canary = await startReceiver({ host });
  onTestFinished(() => canary.close());
  return canary;
}

/** Each socket that `net` makes meanwhile. */
export function watchSockets(see: (socket: net.Socket) => void): void {
  const listener = (message: unknown): void => see((message as { socket: net.Socket }).socket);
  subscribe('net.client.socket', listener);
  onTestFinished(() => void unsubscribe('net.client.socket', listener));
}
