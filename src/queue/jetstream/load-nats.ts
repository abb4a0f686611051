import { optionalImport } from '../../system/optional-import.ts';
import type { Manager, Nats, NatsHeaders, Packages } from './nats.ts';

interface Transport {
  readonly connect: (options: object) => Promise<Nats>;
  readonly headers: () => NatsHeaders;
}

interface JetStream {
  readonly jetstreamManager: (connection: Nats, options: object) => Promise<Manager>;
}

/**
 * Loaded when a queue is opened, so that nobody needs the packages who has none of these. By names of
 * no literal type, so that the compiler does not read the packages' own declarations (see nats.ts).
 */
export async function loadNats(): Promise<Packages> {
  const transport = await optionalImport<Transport>(
    '@nats-io/transport-node',
    // oxlint-disable-next-line typescript/no-unnecessary-type-assertion -- by its literal type tsc would read declarations that fail
    () => import('@nats-io/transport-node' as string),
  );
  const jetstream = await optionalImport<JetStream>(
    '@nats-io/jetstream',
    // oxlint-disable-next-line typescript/no-unnecessary-type-assertion -- by its literal type tsc would read declarations that fail
    () => import('@nats-io/jetstream' as string),
  );
  return {
    connect: transport.connect,
    headers: transport.headers,
    manager: jetstream.jetstreamManager,
  };
}

export type LoadNats = typeof loadNats;
