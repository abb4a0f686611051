/**
 * What is used of the NATS clients, in types of our own: theirs do not compile under the strictest
 * settings, and a caller's connection may be of another copy of the package.
 */

export interface NatsHeaders {
  /** 0, or what the server answers with: 503 where nobody listens. */
  readonly code: number;
  get(name: string): string;
  set(name: string, value: string): void;
}

export interface NatsMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers?: NatsHeaders | undefined;
  readonly reply?: string | undefined;
}

export interface NatsSubscription {
  unsubscribe(): void;
}

/** A connection to NATS: what `connect` of `@nats-io/transport-node` resolves to. */
export interface NatsConnection {
  publish(
    subject: string,
    payload?: Uint8Array | string,
    options?: { readonly reply?: string; readonly headers?: never },
  ): void;
  subscribe(
    subject: string,
    options: { readonly callback: (error: Error | null, message: never) => void },
  ): NatsSubscription;
  status(): AsyncIterable<{ readonly type: string }>;
  close(): Promise<void>;
  isClosed(): boolean;
}

/** With our types, where we use it. */
export interface Nats extends Omit<NatsConnection, 'publish' | 'subscribe' | 'status'> {
  status(): AsyncIterable<{ readonly type: string }> & { readonly stop?: () => void };
  readonly info?: { readonly max_payload?: number; readonly version?: string } | undefined;
  publish(
    subject: string,
    payload?: Uint8Array | string,
    options?: { readonly reply?: string; readonly headers?: NatsHeaders },
  ): void;
  subscribe(
    subject: string,
    options: { readonly callback: (error: Error | null, message: NatsMessage) => void },
  ): NatsSubscription;
}

export interface StreamConfig {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly storage: 'file' | 'memory';
  readonly num_replicas: number;
  readonly [setting: string]: unknown;
}

export interface StreamInfo {
  readonly config: StreamConfig;
  readonly state: {
    readonly messages: number;
    readonly bytes: number;
    readonly last_seq: number;
    readonly subjects?: Readonly<Record<string, number>>;
  };
}

export interface ConsumerInfo {
  readonly name: string;
  readonly num_pending: number;
}

/** What is used of a manager of `@nats-io/jetstream`. */
export interface Manager {
  readonly streams: {
    add(config: StreamConfig): Promise<StreamInfo>;
    update(name: string, config: Partial<StreamConfig>): Promise<StreamInfo>;
    info(name: string, options?: { readonly subjects_filter: string }): Promise<StreamInfo>;
    purge(
      name: string,
      options: { readonly filter: string; readonly seq?: number },
    ): Promise<unknown>;
  };
  readonly consumers: {
    add(stream: string, config: Readonly<Record<string, unknown>>): Promise<ConsumerInfo>;
    delete(stream: string, name: string): Promise<boolean>;
  };
}

export interface Packages {
  readonly connect: (options: object) => Promise<Nats>;
  readonly headers: () => NatsHeaders;
  readonly manager: (connection: Nats, options: object) => Promise<Manager>;
}
