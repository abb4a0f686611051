import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createListener, type ListenerOptions } from '../../../src/cli/listen/listener.ts';

test('a request that nobody thought of is dropped and told of, and the next one comes in', async () => {
  const noise: string[] = [];
  // Options that are not there make serving throw, whatever serves.
  const server = createListener({
    onNoise: (hint: string) => noise.push(hint),
  } as unknown as ListenerOptions);
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  for (const told of [1, 2]) {
    const socket = net.connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n');
    socket.resume();
    await once(socket, 'close');
    expect(noise).toHaveLength(told);
  }
  expect(noise[0]).toBe('A request was dropped: an unexpected failure while it was served.');
});
