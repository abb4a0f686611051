import { type Context, Hono } from 'hono';
import { describe, expect, test, vi } from 'vitest';
import {
  captureRequests,
  type HonoCaptureOptions,
  type HonoConnection,
} from '../../../src/capture/adapters/hono.ts';
import { currentContext } from '../../../src/capture/index.ts';
import type { NodeBindings } from '../../helpers/hosts.ts';

interface Environment {
  Bindings: NodeBindings;
}

const failing = (): never => {
  throw new Error('no peer');
};

const contextWith = async (
  options: HonoCaptureOptions,
  bindings?: object,
  url = 'https://shop.example:8443/a?b=c',
) => {
  const app = new Hono().use(captureRequests(options));
  app.get('/a', (c) => c.json([currentContext(), currentContext()]));
  const response = await app.request(url, {}, bindings);
  const [context] = (await response.json()) as ReturnType<typeof currentContext>[];
  return context;
};

describe('the peer of a Hono request', () => {
  test('is unknown without a runtime’s connection', async () => {
    const context = await contextWith({});
    expect(context?.actor?.ip).toMatchObject({ address: '0.0.0.0' });
    expect(context?.http?.request).toMatchObject({
      host: 'shop.example',
      parameters: { query: { b: 'c' } },
      path: '/a',
      port: 8443,
      remote_port: '1',
      scheme: 'https',
    });
  });

  test('is that of the option, which is called once', async () => {
    const connection = vi.fn<() => HonoConnection>(() => ({
      remoteAddress: '203.0.113.9',
      remotePort: 4711,
    }));
    const context = await contextWith({ connection });
    expect(context?.http?.request).toMatchObject({
      remote_ip: '203.0.113.9',
      remote_port: '4711',
      scheme: 'https',
    });
    expect(connection).toHaveBeenCalledOnce();
  });

  test.each([
    ['throws', failing],
    ['knows nothing', () => undefined],
  ])('is unknown if the option %s', async (_what, connection) => {
    const context = await contextWith({ connection });
    expect(context?.http?.request).toMatchObject({ path: '/a', remote_ip: '0.0.0.0' });
  });

  test('is that of the bindings, nested or not', async () => {
    const incoming = {
      headers: { host: 'inner.example' },
      method: 'GET',
      socket: { remoteAddress: '203.0.113.9', remotePort: 4711 },
      url: '/x/../a',
    };
    const request = { host: 'inner.example', path: '/x/../a', remote_ip: '203.0.113.9' };
    for (const bindings of [{ incoming }, { server: { incoming } }]) {
      const context = await contextWith({}, bindings);
      expect(context?.http?.request).toMatchObject(request);
    }
    const reported = await contextWith(
      { connection: () => ({ remoteAddress: '::1' }) },
      { incoming },
    );
    expect(reported?.http?.request).toMatchObject({ ...request, remote_ip: '127.0.0.1' });
  });

  test.each<[string, HonoCaptureOptions<Context<Environment>>]>([
    ['the bindings', {}],
    ['the option', { connection: ({ env }) => env.incoming.socket }],
  ])('is that of %s if it hangs up while its body is read', async (_source, given) => {
    let isConnected = true;
    let known: string | undefined;
    const incoming = {
      headers: { 'content-type': 'application/json', 'content-length': '2' },
      socket: {
        /** Kept from the first time on, as by Node's sockets. */
        get remoteAddress() {
          if (isConnected) known = '203.0.113.9';
          return known;
        },
      },
    };
    const app = new Hono<Environment>();
    app.use(captureRequests({ maxBodyBytes: 2, ...given }));
    app.post('/', (c) => c.json(currentContext()));
    const body = async function* () {
      isConnected = false;
      yield Buffer.from('{}');
    };
    const asked = { method: 'POST', headers: incoming.headers, body: ReadableStream.from(body()) };
    const bindings = { incoming } as unknown as NodeBindings;
    const response = await app.request('/', { ...asked, duplex: 'half' }, bindings);
    expect(isConnected).toBe(false);
    expect(await response.json()).toMatchObject({ actor: { ip: { address: '203.0.113.9' } } });
  });

  test('is not read from other bindings', async () => {
    const context = await contextWith({}, { incoming: { headers: {} }, server: 'name' });
    expect(context?.http?.request).toMatchObject({ host: 'shop.example', remote_ip: '0.0.0.0' });
  });
});
