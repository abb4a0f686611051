/** The real time that the kernel takes to connect: a second until it tries again. */
import { once } from 'node:events';
import net from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { guardedAgent, post, resolver } from '../../helpers/guarded-agent.ts';

/** A port of 127.0.0.2 where connections wait to be let in, until `ms` after the call of `shut`. */
async function startSlowDoor(ms: number) {
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
    const answer = 'HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\n\\r\\n';
    const server = require('node:net').createServer((socket) => {
      socket.on('error', () => {}).once('data', () => socket.end(answer));
    });
    server.listen({ port: 0, host: '127.0.0.2', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
    });
    parentPort.once('message', () => {
      parentPort.postMessage('shut');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, workerData);
    });`,
    { eval: true, workerData: ms },
  );
  onTestFinished(async () => void (await worker.terminate()));
  const [port] = (await once(worker, 'message')) as [number];
  const shut = async (): Promise<void> => {
    worker.postMessage('shut', []);
    await once(worker, 'message');
    // They fill the hall: what comes behind them is not even answered, and tries again after 1 s.
    const waiting = Array.from({ length: 4 }, () => net.connect(port, '127.0.0.2'));
    for (const socket of waiting) socket.on('error', () => {}).unref();
    onTestFinished(() => waiting.forEach((socket) => void socket.destroy()));
    await Promise.all(waiting.slice(0, 2).map((socket) => once(socket, 'connect')));
  };
  return { port, shut };
}

// Elsewhere a full hall is something else, and 127.0.0.2 is nobody.
test.runIf(process.platform === 'linux')(
  'a name with several addresses has time for each: one that takes long is not given up for one where nobody is',
  async () => {
    // Long before the kernel's second attempt after 1 s: a busy machine wakes the worker late.
    const { port, shut } = await startSlowDoor(300);
    await shut();
    const { lookup } = resolver({ 'far.test': ['127.0.0.2', '127.0.0.3'] });
    const agent = guardedAgent({ network: 'allow-private', lookup });
    expect(await post(`http://far.test:${port}/`, agent)).toBe(200);
  },
);
