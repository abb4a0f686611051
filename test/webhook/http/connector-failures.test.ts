import { EventEmitter } from 'node:events';
import net from 'node:net';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Clock, systemClock } from '../../../src/runtime/clock.ts';
import type { LookupAll } from '../../../src/webhook/http/connector.ts';
import {
  codeOf,
  guardedAgent,
  post,
  startCanary,
  stubResolver,
  watchSockets,
} from '../../helpers/guarded-agent.ts';
import { openPoster, openReceiver, requestTo } from '../../helpers/poster.ts';

describe('a failure while connecting', () => {
  test('has the code of the resolver if a name does not resolve', async () => {
    expect(await codeOf('http://nobody.invalid/', guardedAgent())).toMatch(
      /^(ENOTFOUND|EAI_AGAIN)$/,
    );
    const failure = Object.assign(new Error('server failure'), { code: 'ESERVFAIL' });
    const lookup: LookupAll = (_hostname, _options, callback) => callback(failure, []);
    expect(await post('http://hooks.test/', guardedAgent({ lookup }))).toBe(failure);
  });

  test('is the exception of a resolver that throws', async () => {
    const failure = new TypeError('not now');
    const lookup: LookupAll = () => {
      throw failure;
    };
    expect(await post('http://hooks.test/', guardedAgent({ lookup }))).toBe(failure);
  });

  test('has the code ENODATA for a name without addresses', async () => {
    const agent = guardedAgent({ lookup: stubResolver({ 'empty.test': [] }).lookup });
    expect(await post('http://empty.test/', agent)).toMatchObject({
      code: 'ENODATA',
      message: 'the name has no address',
    });
  });

  test('counts as a reset if the peer disappears before its address was checked', async () => {
    const canary = await startCanary();
    watchSockets((socket) => Object.defineProperty(socket, 'remoteAddress', { value: undefined }));
    expect(await post(canary.url, guardedAgent())).toMatchObject({
      code: 'ECONNRESET',
      message: 'the peer closed at once',
    });
    await canary.idle();
  });

  test('never counts as refused if the peer resets at once', async () => {
    const server = await openReceiver({ onConnection: (socket) => socket.resetAndDestroy() });
    const agent = guardedAgent();
    for (let round = 0; round < 20; round += 1) {
      expect(await codeOf(server.url, agent)).toMatch(/^(ECONNRESET|UND_ERR_SOCKET|EPIPE)$/);
    }
  });
});

describe('a name with several addresses', () => {
  test.each([
    [60, 20],
    [1, 1],
  ])('gets a third of the deadline each (%s ms)', async (connectTimeoutMs, expectedMs) => {
    const canary = await startCanary();
    const connect = vi.spyOn(net.Socket.prototype, 'connect');
    onTestFinished(() => connect.mockRestore());
    await post(canary.url, guardedAgent({ connectTimeoutMs }));
    const [[options]] = connect.mock.calls[0] as unknown as [[object]];
    expect(options).toMatchObject({
      autoSelectFamilyAttemptTimeout: expectedMs,
      highWaterMark: 65_536,
    });
  });
});

describe('the connect deadline', () => {
  const timedOut = { code: 'UND_ERR_CONNECT_TIMEOUT', message: 'no connection within 60 ms' };
  test('is 5 s by default (D76), and its timer ends with the connection', async () => {
    const timers: { ms: number; isCancelled: boolean }[] = [];
    const clock = clockWithTimer((ms) => {
      const timer = { ms, isCancelled: false };
      timers.push(timer);
      return () => (timer.isCancelled = true);
    });
    const { url } = await startCanary();
    expect(await openPoster({ clock }).post(requestTo(url))).toMatchObject({ status: 200 });
    expect(await post(url, guardedAgent({ network: 'public', clock }))).toBeInstanceOf(Error);
    expect(await post(url, guardedAgent({ clock, connectTimeoutMs: 70 }))).toBe(200);
    expect(timers).toEqual([15_000, 5000, 5000, 70].map((ms) => ({ ms, isCancelled: true })));
  });

  test('covers the lookup, and a late answer opens no connection', async () => {
    const canary = await startCanary();
    const sockets: net.Socket[] = [];
    watchSockets((socket) => sockets.push(socket));
    const waiting: (() => void)[] = [];
    const lookup: LookupAll = (_hostname, _options, callback) => {
      waiting.push(() => callback(null, [{ address: '127.0.0.1', family: 4 }]));
    };
    const agent = guardedAgent({ lookup, connectTimeoutMs: 60 });
    expect(await post(`http://slow.test:${canary.port}/`, agent)).toMatchObject(timedOut);
    expect(waiting).toHaveLength(1);
    for (const answer of waiting) answer();
    await new Promise((resolve) => void setImmediate(resolve));
    expect(sockets).toEqual([]);
  });

  test('covers the TLS handshake, and closes the connection', async () => {
    const gate = new EventEmitter();
    const receiver = await openReceiver({
      onConnection: (socket) => socket.once('data', () => gate.emit('hello')),
    });
    const clock = clockWithTimer((_ms, expire) => {
      gate.once('hello', expire);
      return () => {};
    });
    const agent = guardedAgent({ clock, connectTimeoutMs: 60 });
    expect(await post(`https://127.0.0.1:${receiver.port}/`, agent)).toMatchObject(timedOut);
    await receiver.idle();
  });
});

function clockWithTimer(startTimer: (ms: number, expire: () => void) => () => unknown): Clock {
  return { ...systemClock, now: () => 0, monotonicMs: () => 0, startTimer };
}
