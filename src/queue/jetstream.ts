/** A queue in the streams of NATS JetStream, which any number of processes share. */

import type { IncidentStore } from '../incident/incident-store.ts';
import { systemClock } from '../system/clock.ts';
import { untraced } from '../system/untraced.ts';
import {
  type JetStreamQueueOptions,
  type JetStreamStreamsOptions,
  readStreamsOptions,
} from './jetstream/jetstream-options.ts';
import { JetStreamQueue } from './jetstream/jetstream-queue.ts';
import { linked } from './jetstream/link.ts';
import { loadNats } from './jetstream/load-nats.ts';
import { namesOf } from './jetstream/names.ts';
import { createStreams } from './jetstream/streams.ts';
import type { MessageQueue } from './queue.ts';

export type {
  JetStreamConnectionOptions,
  JetStreamQueueOptions,
  JetStreamServers,
  JetStreamStreamsOptions,
} from './jetstream/jetstream-options.ts';
export type { NatsConnection } from './jetstream/nats.ts';
export type { MessageQueue } from './queue.ts';

/** A queue, and what was told of incidents, for the reporters of all processes. */
export interface JetStreamMessageQueue extends MessageQueue {
  /** For the option `incidents` of `createReporter`; an incident is known for 30 days since it was last told of. */
  readonly incidents: IncidentStore;
}

/**
 * Makes a queue in streams, which {@link createJetStreamStreams} makes. It connects when it is opened,
 * by the packages `@nats-io/transport-node` and `@nats-io/jetstream`.
 *
 * @throws SecurityEventError `ERR_INVALID_OPTION`; its `path` names the option. `open` rejects with
 * `ERR_PEER_MISSING` where a package is not installed, and with `ERR_QUEUE_FAILED` where the server
 * cannot be reached or the streams are missing.
 */
export function createJetStreamQueue(options: JetStreamQueueOptions): JetStreamMessageQueue {
  return new JetStreamQueue(options);
}

/**
 * Makes the streams and buckets that the queue needs, or gives those that are there these replicas and
 * bounds; what they hold stays. Any number of processes may call it at once.
 *
 * @throws SecurityEventError (rejects) `ERR_INVALID_OPTION`; `ERR_PEER_MISSING`; `ERR_QUEUE_FAILED`.
 */
export async function createJetStreamStreams(
  options: JetStreamStreamsOptions,
): Promise<'created' | 'updated'> {
  const read = readStreamsOptions(options);
  const { nats, manager, isOwn } = await linked(read, loadNats);
  try {
    return await untraced(() =>
      createStreams(manager, namesOf(read.prefix), { ...read, clock: systemClock }),
    );
  } finally {
    if (isOwn) await nats.close();
  }
}
