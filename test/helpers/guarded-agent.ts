/** undici's Agent on the guarded connector, and helpers for its tests. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import dns from 'node:dns';
import net from 'node:net';
import { Agent, buildConnector, type Dispatcher, request } from 'undici';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/runtime/clock.ts';
import {
  createGuardedConnect,
  type GuardedConnect,
  type GuardedConnectOptions,
  type LookupAll,
} from '../../src/webhook/http/connector.ts';
import { openReceiver } from './poster.ts';
import type { Receiver } from './receiver.ts';

/** A DNS lookup that answers from a table, then from the system, and records the names. */
export function stubResolver(names: Readonly<Record<string, readonly string[]>>) {
  const lookups: string[] = [];
  const lookup: LookupAll = (hostname, options, callback) => {
    lookups.push(hostname);
    const addresses = names[hostname];
    if (addresses === undefined) dns.lookup(hostname, options, callback);
    else
      callback(
        null,
        addresses.map((address) => ({ address, family: net.isIP(address) })),
      );
  };
  return { lookups, lookup };
}

/** By default allows private addresses, and connects within 5 s. */
export const guardedConnect = (options: Partial<GuardedConnectOptions> = {}): GuardedConnect =>
  createGuardedConnect(buildConnector, {
    network: 'allow-private',
    connectTimeoutMs: 5000,
    clock: systemClock,
    ...options,
  });

export function guardedAgent(
  options: Partial<GuardedConnectOptions> = {},
  more: Agent.Options = {},
): Agent {
  const connect = guardedConnect(options);
  const agent = new Agent({ ...more, connect, keepAliveTimeout: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
}

/** Sends a POST. Returns its status or the error. */
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

/** Starts a receiver for tests that check whether a connection reaches it. */
export const startCanary = (host = '127.0.0.1'): Promise<Receiver> => openReceiver({ host });

/** Calls `onSocket` for each client socket that `net` creates until the test ends. */
export function watchSockets(onSocket: (socket: net.Socket) => void): void {
  const listener = (message: unknown): void => onSocket((message as { socket: net.Socket }).socket);
  subscribe('net.client.socket', listener);
  onTestFinished(() => void unsubscribe('net.client.socket', listener));
}
