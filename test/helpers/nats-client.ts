/**
 * A client of the servers of tests, without this project's queue. Their declarations do not compile
 * with this project's settings (TS2420 under `exactOptionalPropertyTypes`), so what is used of them is told here.
 */

export interface StreamInfo {
  readonly state: {
    readonly messages: number;
    readonly first_seq: number;
    readonly last_seq: number;
  };
  readonly cluster?: {
    readonly leader?: string;
    readonly replicas?: readonly { readonly name: string; readonly current: boolean }[];
  };
}

export interface StreamSettings {
  readonly name: string;
  readonly subjects?: readonly string[];
  readonly num_replicas?: number;
  readonly storage?: 'file' | 'memory';
}

/**
 * For servers whose streams are removed and made. Some milliseconds after an account's last stream was removed NATS
 * removes the folder of its streams; one made at that moment fails (10049, "error creating store for stream"): 18 of
 * 8000 in turn on 2.10.27, and none of 8000 beside one that stays.
 */
export const STAYING_STREAM: StreamSettings = { name: 'stays', subjects: ['stays'] };

export interface NatsManager {
  readonly streams: {
    add(settings: StreamSettings): Promise<StreamInfo>;
    info(name: string): Promise<StreamInfo>;
    delete(name: string): Promise<boolean>;
    list(): AsyncIterable<StreamInfo & { readonly config: StreamSettings }>;
  };
  jetstream(): {
    publish(subject: string, payload?: string | Uint8Array): Promise<{ readonly seq: number }>;
  };
}

export interface NatsClient {
  close(): Promise<void>;
}

interface Transport {
  readonly connect: (options: object) => Promise<NatsClient>;
}

interface JetStream {
  readonly jetstreamManager: (client: NatsClient) => Promise<NatsManager>;
}

/** Not told to the compiler by name. */
const load = async <T>(name: string): Promise<T> => (await import(name)) as T;

/** Comes back for ever where a server is away. */
export async function connectNats(servers: readonly string[]): Promise<NatsClient> {
  const { connect } = await load<Transport>('@nats-io/transport-node');
  return await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
}

/** So many calls, of five seconds each at most, before a cluster must have a leader. */
const MAX_CALLS = 20;

/** A cluster whose leader was killed just now answers nobody until it has another. */
export async function managerOf(client: NatsClient): Promise<NatsManager> {
  const { jetstreamManager } = await load<JetStream>('@nats-io/jetstream');
  for (let calls = 1; ; calls += 1) {
    try {
      return await jetstreamManager(client);
    } catch (error) {
      if (calls === MAX_CALLS) throw error;
    }
  }
}

/** Once there is one. */
export async function leaderOf(manager: NatsManager, stream: string): Promise<string> {
  for (let calls = 1; ; calls += 1) {
    try {
      const { leader } = (await manager.streams.info(stream)).cluster ?? {};
      if (leader !== undefined) return leader;
    } catch (error) {
      if (calls >= MAX_CALLS) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
