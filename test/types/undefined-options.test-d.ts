/** Options given as undefined count as absent, also under `exactOptionalPropertyTypes`. */
import type {
  EnrichmentOptions,
  MaxmindOptions,
  ParameterOptions,
  RedactionOptions,
} from '../../src/capture/index.ts';
import type { ContractOptions } from '../../src/contract/index.ts';
import type {
  DeliveryOptions,
  explainSchedule,
  LogWriterOptions,
  ReporterOptions,
  SendOptions,
  WebhookSenderOptions,
} from '../../src/index.ts';
import type { MetricsOptions } from '../../src/otel/index.ts';
import type { PostgresConnectionOptions, PostgresQueueOptions } from '../../src/queue/postgres.ts';
import type { SqliteIncidentsOptions, SqliteQueueOptions } from '../../src/queue/sqlite.ts';
import type {
  FastifyPluginOptions,
  FetchHandlerOptions,
  FreshnessOptions,
  MemoryDuplicatesOptions,
  ReceiverOptions,
} from '../../src/receiver/index.ts';
import type {
  ConfigurationOptions,
  RotationOptions,
  SecretChoice,
  SettingsCacheOptions,
  SettingsFileOptions,
  WebhookChoice,
} from '../../src/settings.ts';
import type * as testing from '../../src/testing/index.ts';
import { type Equal, same } from './equal-types.ts';

/** The optional keys that refuse undefined. */
type Refusing<Options> = {
  [Key in keyof Options]-?: Partial<Pick<Options, Key>> extends Pick<Options, Key>
    ? Record<Key, undefined> extends Pick<Options, Key>
      ? never
      : Key
    : never;
}[keyof Options];

type RefusingOf<List extends readonly unknown[]> = {
  [Index in keyof List]: Refusing<List[Index]>;
}[number];

type All = [
  ConfigurationOptions,
  ContractOptions<'open', 'received'>,
  DeliveryOptions,
  EnrichmentOptions,
  FastifyPluginOptions,
  FetchHandlerOptions,
  FreshnessOptions,
  LogWriterOptions,
  MaxmindOptions,
  MemoryDuplicatesOptions,
  MetricsOptions,
  NonNullable<Parameters<typeof explainSchedule>[0]>,
  NonNullable<Parameters<typeof testing.startReceiver>[0]>,
  ParameterOptions,
  PostgresConnectionOptions,
  PostgresQueueOptions,
  ReceiverOptions,
  RedactionOptions,
  ReporterOptions,
  RotationOptions,
  SecretChoice,
  SendOptions,
  SettingsCacheOptions,
  SettingsFileOptions,
  SqliteIncidentsOptions,
  SqliteQueueOptions,
  WebhookChoice,
  WebhookSenderOptions,
];

same<Equal<RefusingOf<All>, never>>();
same<Equal<Refusing<{ readonly a?: string; readonly b?: number | undefined }>, 'a'>>();
// Required options refuse it.
same<Equal<undefined extends SqliteQueueOptions['file'] ? true : false, false>>();
same<Equal<undefined extends ReporterOptions['service'] ? true : false, false>>();
