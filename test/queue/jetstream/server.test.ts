/** The JetStream queue and its server: what is missing, what goes away, and whose the connection is. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tokenOf } from '../../../src/queue/jetstream/names.ts';
import { SOUND_VERSION, UNSOUND_CHANNEL } from '../../../src/queue/jetstream/server-version.ts';
import {
  createJetStreamQueue,
  createJetStreamStreams,
  type NatsConnection,
} from '../../../src/queue/jetstream.ts';
import { connectNats } from '../../helpers/nats-client.ts';
import { hasSoundServer, NatsServer, natsProgram } from '../../helpers/nats-server.ts';
import { DELIVERED, entryOf, idsOf, isClaim, ROW } from '../conformance/trial.ts';

const REQUEST = {
  tiers: ['healthy'],
  maxMessages: 10,
  maxBytes: 1e6,
  leaseMs: 60_000,
} as const;

describe.runIf(natsProgram !== undefined)('the JetStream queue and its server:', () => {
  let server: NatsServer;
  let prefixes = 0;

  beforeAll(async () => {
    server = await NatsServer.start();
  });

  afterAll(() => server.stop());

  const fresh = () => {
    prefixes += 1;
    return { connection: { servers: server.address }, prefix: `server-${prefixes}` };
  };

  test('without its streams open says what makes them', async () => {
    const queue = createJetStreamQueue(fresh());
    await expect(queue.open(ROW)).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining('createJetStreamStreams'),
    });
    expect(await queue.close()).toEqual({ returned: [], left: 0 });
  });

  test('open tells of a server that may lose sight of messages, and of no other', async () => {
    const options = fresh();
    await createJetStreamStreams(options);
    const told: unknown[] = [];
    const listen = (message: unknown): void => void told.push(message);
    subscribe(UNSOUND_CHANNEL, listen);
    const queue = createJetStreamQueue(options);
    await queue.open(ROW);
    await queue.close();
    unsubscribe(UNSOUND_CHANNEL, listen);
    const expected = { prefix: options.prefix, leastVersion: SOUND_VERSION };
    expect(told).toMatchObject(hasSoundServer ? [] : [expected]);
  });

  test('streams for which the servers have no room are refused by their bound', async () => {
    const options = { ...fresh(), maxPendingBytes: 1e12 };
    await expect(createJetStreamStreams(options)).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining('maxPendingBytes'),
    });
  });

  test('streams are made once, and given other bounds afterwards', async () => {
    const options = fresh();
    expect(await createJetStreamStreams({ ...options, maxPendingMessages: 1 })).toBe('created');
    const queue = createJetStreamQueue(options);
    expect(queue.durability).toBe('memory');
    await queue.open(ROW);
    expect(queue.durability).toBe('process-crash');
    await queue.enqueue([entryOf('one')]);
    await expect(queue.enqueue([entryOf('one')])).rejects.toMatchObject({ code: 'ERR_QUEUE_FULL' });
    expect(await createJetStreamStreams({ ...options, maxPendingMessages: 2 })).toBe('updated');
    expect(await queue.enqueue([entryOf('one')])).toEqual({ closed: [] });
    // Nobody has claimed: it has not read what waits, and tells it all the same.
    expect(await queue.close()).toEqual({ returned: [], left: 2 });
  });

  test('a server that is not there is told, by open and by the making of streams', async () => {
    const away = await NatsServer.start();
    await away.stop();
    const connection = { servers: away.address };
    const failed = { code: 'ERR_QUEUE_FAILED' };
    await expect(createJetStreamQueue({ connection }).open(ROW)).rejects.toMatchObject(failed);
    await expect(createJetStreamStreams({ connection })).rejects.toMatchObject(failed);
  });

  test("a caller's connection stays open", async () => {
    const { prefix } = fresh();
    const nats = await connectNats([server.address]);
    const options = { connection: nats as unknown as NatsConnection, prefix };
    await createJetStreamStreams(options);
    const queue = createJetStreamQueue(options);
    await queue.open(ROW);
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    const claim = await queue.claim(REQUEST);
    if (!isClaim(claim)) throw new Error('nothing was claimed');
    expect(idsOf(claim)).toEqual(['a']);
    await queue.settle(claim, [DELIVERED], { ...ROW, waitMs: 0 });
    expect(await queue.close()).toEqual({ returned: [], left: 0 });
    expect(options.connection.isClosed()).toBe(false);
    await nats.close();
  });

  test('while the server is away calls end, and what was accepted is there when it is back', async () => {
    const own = await NatsServer.start();
    const connection = { servers: own.address };
    await createJetStreamStreams({ connection });
    const queue = createJetStreamQueue({ connection, callTimeoutMs: 500 });
    await queue.open(ROW);
    await queue.enqueue([entryOf('one', { messageId: 'a' })]);
    await own.kill();
    await expect(queue.enqueue([entryOf('one')])).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
    });
    await own.start();
    let claimed = await queue.claim(REQUEST).catch(() => ({}));
    // It connects again by itself, in its own time.
    for (let tries = 0; tries < 100 && !isClaim(claimed); tries += 1) {
      claimed = await queue.claim(REQUEST).catch(() => ({}));
    }
    if (!isClaim(claimed)) throw new Error('nothing was claimed');
    expect(idsOf(claimed)[0]).toBe('a');
    await queue.close();
    await own.stop();
  });

  test('a message larger than the server allows is refused by name of its bound', async () => {
    const options = fresh();
    await createJetStreamStreams(options);
    const queue = createJetStreamQueue(options);
    await queue.open(ROW);
    const bytes = Buffer.alloc(9 * 1024 * 1024, 'x');
    await expect(queue.enqueue([entryOf('one', { bytes })])).rejects.toMatchObject({
      code: 'ERR_MESSAGE_TOO_LARGE',
      path: [0],
      message: expect.stringContaining('max_payload'),
    });
    expect((await queue.stats()).accepted).toBe(0);
    await queue.close();
  });

  test('what somebody else has removed from the stream is counted as lost, and holds up nothing', async () => {
    const options = fresh();
    await createJetStreamStreams(options);
    const queue = createJetStreamQueue(options);
    await queue.open(ROW);
    await queue.enqueue([entryOf('one', { messageId: 'a' }), entryOf('one', { messageId: 'b' })]);
    const claim = await queue.claim(REQUEST);
    if (!isClaim(claim)) throw new Error('nothing was claimed');
    const again = { kind: 'again', afterMs: 0, progress: null } as const;
    await queue.settle(claim, [again, again], { ...ROW, waitMs: 0 });
    await queue.close();
    const nats = (await connectNats([server.address])) as unknown as {
      request(subject: string, payload: string): Promise<unknown>;
      close(): Promise<void>;
    };
    const subject = `$JS.API.STREAM.MSG.DELETE.${options.prefix}-messages`;
    await nats.request(subject, JSON.stringify({ seq: 1 }));
    await nats.close();
    const other = createJetStreamQueue(options);
    await other.open(ROW);
    const left = await other.claim(REQUEST);
    expect(isClaim(left) && idsOf(left)).toEqual(['b']);
    expect((await other.stats()).discarded).toEqual({ lost: 1 });
    await other.close();
  });

  interface Raw {
    request(subject: string, payload: string): Promise<unknown>;
    close(): Promise<void>;
  }

  test.each([
    ['a row of a newer release', '{"v":99}'],
    ['a row that is damaged', 'no row'],
  ])('%s holds up its application alone', async (_, row) => {
    const options = fresh();
    await createJetStreamStreams(options);
    const queue = createJetStreamQueue(options);
    await queue.open(ROW);
    await queue.enqueue([entryOf('one'), entryOf('two', { messageId: 'b' })]);
    const nats = (await connectNats([server.address])) as unknown as Raw;
    await nats.request(`$KV.${options.prefix}-rows.a.${tokenOf('one')}`, row);
    // What nobody of us put there is passed over.
    await nats.request(`$KV.${options.prefix}-rows.a.no+token`, row);
    await nats.request(`${options.prefix}.m.2.no+token`, 'x');
    await nats.request(`${options.prefix}.m.2.${tokenOf('two')}`, 'x');
    await expect(queue.application('one')).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
    const claims = [await queue.claim(REQUEST), await queue.claim(REQUEST)];
    expect(claims.filter(isClaim).map(idsOf)).toEqual([['b']]);
    await expect(queue.stats()).rejects.toMatchObject({ code: 'ERR_QUEUE_FAILED' });
    await nats.close();
    await queue.close();
  });

  test('what another process has stored just before is closed with the rest', async () => {
    const options = fresh();
    await createJetStreamStreams(options);
    const [agent, closer] = [createJetStreamQueue(options), createJetStreamQueue(options)];
    await agent.open(ROW);
    await closer.open(ROW);
    await closer.claim(REQUEST);
    for (let index = 0; index < 20; index += 1) {
      const applicationId = `application-${index}`;
      await agent.enqueue([entryOf(applicationId)]);
      expect(await closer.closeApplication(applicationId, 10)).toHaveLength(1);
    }
    expect(await closer.stats()).toMatchObject({ accepted: 20, pending: 0, dead: 20 });
    await agent.close();
    await closer.close();
  });

  test('a stream that was made anew, while what is known of it is old, is refused by name', async () => {
    const options = fresh();
    await createJetStreamStreams(options);
    const queue = createJetStreamQueue(options);
    await queue.open(ROW);
    await queue.enqueue([entryOf('one'), entryOf('one')]);
    const claim = await queue.claim(REQUEST);
    if (!isClaim(claim)) throw new Error('nothing was claimed');
    await queue.settle(claim, [DELIVERED, DELIVERED], { ...ROW, waitMs: 0 });
    await queue.close();
    const nats = (await connectNats([server.address])) as unknown as Raw;
    await nats.request(`$JS.API.STREAM.DELETE.${options.prefix}-messages`, '');
    await nats.close();
    await createJetStreamStreams(options);
    const other = createJetStreamQueue(options);
    await other.open(ROW);
    await other.enqueue([entryOf('one')]);
    await expect(other.claim(REQUEST)).rejects.toMatchObject({
      code: 'ERR_QUEUE_FAILED',
      message: expect.stringContaining('lost messages'),
    });
    await other.close();
  });
});
