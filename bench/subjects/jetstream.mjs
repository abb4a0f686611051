/**
 * The servers of the rows of JetStream, which `run.ts` starts, and the rival there: messages with the same bytes
 * published to one bare stream of as many replicas, and fetched from it by one durable consumer.
 */

import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

const servers = (process.env.BENCH_NATS ?? '').split(',');
const REPLICAS = 3;
const FETCH = 1000;

let prefixes = 0;

/** Names of its own, whose streams `remove` deletes. */
export function newPrefix() {
  prefixes += 1;
  const prefix = `bench-${process.pid}-${prefixes}`;
  const remove = async () => {
    const client = await connect({ servers });
    const { streams } = await jetstreamManager(client);
    for await (const { config } of streams.list()) {
      if (config.name.includes(`${prefix}-`)) await streams.delete(config.name);
    }
    await client.close();
  };
  return { connection: { servers }, prefix, replicas: REPLICAS, remove };
}

async function openStream() {
  const client = await connect({ servers });
  const manager = await jetstreamManager(client);
  const name = `bench-bare-${process.pid}`;
  await manager.streams.add({ name, subjects: [`${name}.>`], num_replicas: REPLICAS });
  const stream = manager.jetstream();
  const enter = ({ applicationId, stored }) =>
    stream.publish(`${name}.${applicationId}`, stored.bytes);
  const close = async () => {
    await manager.streams.delete(name);
    await client.close();
  };
  return { manager, name, stream, enter, close };
}

async function enterAll(enter, given) {
  for (let next = given.pop(); next !== undefined; next = given.pop()) await enter(next);
}

const enterBy = (callers, enter, given) =>
  Promise.all(Array.from({ length: callers }, () => enterAll(enter, given)));

/** So many publications at a time, each until it is acknowledged. */
export const publishing = (entries, callers) => async () => {
  const { manager, name, enter, close } = await openStream();
  let given = [];
  return {
    prepare: (count) => {
      given = entries(count);
    },
    warmUp: async () => {
      await enterBy(callers, enter, entries(1000));
      await manager.streams.purge(name);
    },
    run: async () => {
      await enterBy(callers, enter, given);
    },
    check: async (count) => {
      const { state } = await manager.streams.info(name);
      if (state.messages !== count) throw new Error(`${state.messages} messages, not ${count}`);
    },
    close,
  };
};

/** All that was published, 1000 a fetch, each acknowledged. */
export const fetching = (entries) => async () => {
  const { manager, name, stream, enter, close } = await openStream();
  let fetched = 0;
  return {
    prepare: async (count) => {
      await enterBy(1000, enter, entries(count));
      const consumer = { durable_name: 'bench', ack_policy: 'explicit', max_ack_pending: -1 };
      await manager.consumers.add(name, consumer);
    },
    run: async (count) => {
      const consumer = await stream.consumers.get(name, 'bench');
      while (fetched < count) {
        const messages = await consumer.fetch({ max_messages: FETCH, expires: 10_000 });
        for await (const message of messages) {
          message.ack();
          fetched += 1;
        }
      }
    },
    check: (count) => {
      if (fetched !== count) throw new Error(`${fetched} messages, not ${count}`);
    },
    close,
  };
};
