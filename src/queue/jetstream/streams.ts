/** Streams and buckets: made once, and looked at before they are used. */
import { SecurityEventError } from '../../errors.ts';
import type { Durability } from '../queue.ts';
import { failure, isMissingStream } from './jetstream-failure.ts';
import type { ReadStreamsOptions } from './jetstream-options.ts';
import type { Link } from './link.ts';
import type { Names } from './names.ts';
import type { Manager, StreamConfig, StreamInfo } from './nats.ts';
import { type Patience, patiently } from './patience.ts';
import { isSound } from './server-version.ts';

const NS_PER_S = 1e9;

/** An answer that was lost is asked for again so long at most. */
const DUPLICATES_S = 60;

/** How long an incident is known since it was last told of. */
const INCIDENTS_KEPT_S = 30 * 86_400;

export async function createStreams(
  manager: Manager,
  names: Names,
  options: ReadStreamsOptions & Patience,
): Promise<'created' | 'updated'> {
  try {
    const changes: string[] = [];
    for (const config of configsOf(names, options))
      changes.push(await patiently(options, () => createStream(manager, config)));
    // Handles that were killed left theirs behind; those that live write them anew.
    await patiently(options, () => manager.streams.purge(names.rows, { filter: names.time('*') }));
    return changes.includes('created') ? 'created' : 'updated';
  } catch (error) {
    throw failure(error);
  }
}

async function createStream(
  { streams }: Manager,
  config: StreamConfig,
): Promise<'created' | 'updated'> {
  try {
    await streams.info(config.name);
  } catch (error) {
    if (!isMissingStream(error)) throw error;
    await streams.add(config);
    return 'created';
  }
  await streams.update(config.name, config);
  return 'updated';
}

function configsOf(names: Names, options: ReadStreamsOptions): StreamConfig[] {
  const { replicas, storage, maxPendingMessages, maxPendingBytes } = options;
  const common = {
    storage,
    num_replicas: replicas,
    retention: 'limits',
    duplicate_window: DUPLICATES_S * NS_PER_S,
    allow_direct: true,
  };
  const bucket = {
    ...common,
    max_msgs_per_subject: 1,
    discard: 'new',
    allow_rollup_hdrs: true,
    deny_delete: true,
  };
  return [
    {
      ...common,
      name: names.messages,
      subjects: [names.messageSubjects],
      // A full queue rejects, it never drops (law 6).
      discard: 'new',
      max_msgs: maxPendingMessages,
      max_bytes: maxPendingBytes,
    },
    { ...common, name: names.dead, subjects: [names.deadSubjects], discard: 'new' },
    { ...bucket, name: names.rows, subjects: [`$KV.${names.rowsBucket}.>`] },
    {
      ...bucket,
      name: names.incidents,
      subjects: [`$KV.${names.incidentsBucket}.>`],
      max_age: INCIDENTS_KEPT_S * NS_PER_S,
    },
  ];
}

export interface Found {
  readonly durability: Durability;
  readonly bounds: { readonly maxPendingMessages: number; readonly maxPendingBytes: number };
}

/** What the streams are like; refuses those that would not keep the laws. */
export async function lookedAt(
  { manager: { streams }, nats }: Pick<Link, 'manager' | 'nats'>,
  names: Names,
  patience: Patience,
): Promise<Found> {
  const needed = [names.messages, names.rows, names.dead, names.incidents];
  const infos = await Promise.all(
    needed.map((name) => patiently(patience, () => streams.info(name))),
  );
  const [messages] = infos as [StreamInfo];
  const { config } = messages;
  if (config['discard'] !== 'new' || (config['max_age'] ?? 0) !== 0) {
    const detail = `the stream ${names.messages} would drop messages: run createJetStreamStreams`;
    throw new SecurityEventError('ERR_QUEUE_FAILED', { detail });
  }
  return {
    durability: durabilityOf(infos.slice(0, 3), nats.info?.version),
    bounds: {
      maxPendingMessages: Number(config['max_msgs']),
      maxPendingBytes: Number(config['max_bytes']),
    },
  };
}

/**
 * Of the weakest stream. A server acknowledges what its operating system has, and calls `fsync`
 * later unless it is told `sync_interval: always`, which no client can see: alone it keeps no more
 * than a process that ends.
 */
export function durabilityOf(
  infos: readonly Pick<StreamInfo, 'config'>[],
  version?: string,
): Durability {
  if (infos.some(({ config }) => config.storage === 'memory')) return 'memory';
  const replicas = Math.min(...infos.map(({ config }) => config.num_replicas));
  return replicas >= 3 && isSound(version) ? 'replicated' : 'process-crash';
}
