/** The conformance suite on a server of its own, whose time the suite moves. */
import { afterAll, beforeAll, describe } from 'vitest';
import { JetStreamQueue } from '../../src/queue/jetstream/jetstream-queue.ts';
import { createJetStreamStreams } from '../../src/queue/jetstream.ts';
import type { MessageQueue } from '../../src/queue/queue.ts';
import {
  connectNats,
  managerOf,
  type NatsClient,
  type NatsManager,
  STAYING_STREAM,
} from '../helpers/nats-client.ts';
import { NatsServer, natsProgram } from '../helpers/nats-server.ts';
import { quickOrNightly } from '../helpers/quick-or-nightly.ts';
import { SteppingTime } from '../helpers/stepping-time.ts';
import { describeQueueConformance } from './conformance/describe-queue-conformance.ts';
import type { QueueBounds, QueueHarness, QueueUnderTest } from './conformance/harness.ts';
import { HeldCalls } from './jetstream/held-calls.ts';

describe.runIf(natsProgram !== undefined)('the JetStream queue', () => {
  let server: NatsServer;
  let client: NatsClient;
  let manager: NatsManager;
  let made = 0;

  beforeAll(async () => {
    // The suite has a message that is larger than a server takes by default.
    server = await NatsServer.start({ maxPayload: 2 * 1024 * 1024 });
    client = await connectNats([server.address]);
    manager = await managerOf(client);
    await manager.streams.add(STAYING_STREAM);
  });

  afterAll(async () => {
    await client.close();
    await server.stop();
  });

  async function create(bounds: QueueBounds = {}, maxKept?: number): Promise<QueueUnderTest> {
    made += 1;
    const prefix = `queue-${made}`;
    const connection = { servers: server.address };
    await createJetStreamStreams({ connection, prefix, ...bounds });
    const time = new SteppingTime();
    const handles: MessageQueue[] = [];
    const calls = new HeldCalls();
    const handle = (): MessageQueue => {
      const queue = new JetStreamQueue(
        { connection, prefix },
        { time, load: calls.load, ...(maxKept && { maxKept }) },
      );
      handles.push(queue);
      return queue;
    };
    return {
      queue: handle(),
      advance: (ms) => time.advance(ms),
      reopen: () => Promise.resolve(handle()),
      join: () => Promise.resolve(handle()),
      hold: (applicationId) => Promise.resolve(calls.hold(applicationId)),
      dispose: async () => {
        for (const queue of handles) await queue.close();
        for await (const { config } of manager.streams.list()) {
          if (config.name.includes(`${prefix}-`)) await manager.streams.delete(config.name);
        }
      },
    };
  }

  const harness: QueueHarness = {
    create,
    // Two hundred bytes are told of each, in its headers and its subject.
    capabilities: {
      durable: true,
      distributed: true,
      holdsCalls: true,
      storedBytesOfThree: 850,
      seesCallsByApplication: true,
    },
    unitMs: 1000,
    toleranceMs: 0,
    blackHoleMessages: quickOrNightly(500, 10_000),
    crowd: quickOrNightly(100, 2000),
    randomRuns: quickOrNightly(3, 20),
  };

  describeQueueConformance('the JetStream queue', harness);

  // Almost nothing is kept in mind: what comes up is read again each time.
  describeQueueConformance('the JetStream queue with hardly any memory', {
    ...harness,
    capabilities: { ...harness.capabilities, estimatesBytes: true },
    create: (bounds) => create(bounds, 4),
  });
});
