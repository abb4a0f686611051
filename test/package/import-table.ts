/**
 * Who may import whom: the table of ARCHITECTURE.md as data. The first row whose `files` match a
 * file judges it; a file that no row matches is a mistake. There is no list of exceptions.
 */

export interface ImportRow {
  /** Paths below src/; a trailing slash means the whole folder. */
  readonly files: readonly string[];
  /** Files and folders of ours; a file may always import its own folder where the row is a folder. */
  readonly ours: readonly string[];
  /** Of ours, but types only. */
  readonly oursAsTypes?: readonly string[];
  /** Packages and node: modules. */
  readonly external: readonly string[];
  readonly externalAsTypes?: readonly string[];
}

export const IMPORT_TABLE: readonly ImportRow[] = [
  {
    files: ['index.ts'],
    ours: ['contract/', 'incident/', 'log/', 'reporter/', 'webhook/', 'errors.ts'],
    oursAsTypes: ['projection/', 'queue/queue.ts', 'settings/'],
    external: [],
  },
  { files: ['errors.ts'], ours: [], external: [] },
  { files: ['once.ts'], ours: [], external: [] },
  { files: ['option-rules.ts'], ours: ['errors.ts'], external: [] },
  { files: ['system/id.ts'], ours: [], external: ['node:crypto', 'uuid'] },
  {
    files: ['system/ambient.ts', 'system/call-place.ts'],
    ours: [],
    external: ['node:async_hooks'],
  },
  {
    files: ['system/untraced.ts'],
    ours: ['system/'],
    external: ['node:async_hooks', 'node:diagnostics_channel'],
  },
  { files: ['system/optional-import.ts'], ours: ['errors.ts'], external: [] },
  { files: ['system/'], ours: [], external: ['node:events'] },
  { files: ['address/'], ours: ['errors.ts', 'once.ts'], external: ['node:net', 'ipaddr.js'] },
  { files: ['contract/'], ours: ['errors.ts', 'address/', 'once.ts'], external: ['zod'] },
  { files: ['projection/'], ours: ['contract/', 'errors.ts'], external: [] },
  {
    files: ['reporter/'],
    ours: [
      'reporter/',
      'address/normalise.ts',
      'capture/',
      'contract/',
      'errors.ts',
      'incident/',
      'log/',
      'option-rules.ts',
      'projection/',
      'system/',
      'webhook/encoder.ts',
      'webhook/engine/',
    ],
    oursAsTypes: ['queue/queue.ts'],
    external: ['node:diagnostics_channel', 'node:net', 'node:util'],
  },
  {
    files: ['incident/'],
    ours: ['incident/', 'option-rules.ts', 'system/'],
    external: ['node:crypto'],
  },
  {
    files: ['settings/configure/file-lock.ts', 'settings/configure/file-store.ts'],
    ours: ['settings/configure/', 'errors.ts', 'system/'],
    external: ['node:crypto', 'node:fs/promises', 'node:os', 'node:path'],
  },
  {
    // Above settings and webhook: nothing but the published entry imports it.
    files: ['settings/configure/'],
    ours: ['settings/', 'contract/', 'errors.ts', 'option-rules.ts', 'system/', 'webhook/'],
    external: [],
  },
  { files: ['settings/index.ts'], ours: ['settings/'], external: [] },
  {
    files: ['settings/settings-events.ts'],
    ours: ['errors.ts'],
    external: ['node:diagnostics_channel'],
  },
  { files: ['settings/whole-file.ts'], ours: [], external: ['node:fs', 'node:fs/promises'] },
  {
    files: ['settings/'],
    ours: ['contract/', 'errors.ts', 'option-rules.ts', 'system/'],
    external: ['node:path', 'zod'],
  },
  {
    files: ['log/writer.ts'],
    ours: ['log/', 'contract/', 'errors.ts', 'system/', 'address/'],
    external: ['pino', 'node:fs'],
  },
  {
    files: ['log/'],
    ours: ['contract/', 'errors.ts', 'system/', 'address/'],
    external: ['node:fs', 'node:util'],
  },
  { files: ['queue/stored.ts'], ours: [], external: [] },
  { files: ['queue/ledger.ts'], ours: [], oursAsTypes: ['queue/stored.ts'], external: [] },
  {
    files: ['queue/queue.ts'],
    ours: [],
    oursAsTypes: ['queue/ledger.ts', 'queue/stored.ts'],
    external: [],
  },
  {
    files: ['queue/index.ts', 'queue/drain-to.ts'],
    ours: ['queue/drain-to.ts', 'errors.ts', 'option-rules.ts'],
    oursAsTypes: ['queue/queue.ts'],
    external: [],
  },
  {
    // What the queues of one process share.
    files: ['queue/in-process/'],
    ours: ['errors.ts', 'system/'],
    oursAsTypes: ['queue/queue.ts'],
    external: [],
  },
  {
    files: ['queue/jetstream.ts', 'queue/jetstream/'],
    ours: ['queue/jetstream/', 'queue/in-process/', 'errors.ts', 'option-rules.ts', 'system/'],
    oursAsTypes: ['queue/queue.ts', 'incident/'],
    external: ['@nats-io/jetstream', '@nats-io/transport-node', 'node:crypto'],
  },
  {
    files: ['queue/level.ts', 'queue/level/'],
    ours: ['queue/level/', 'queue/in-process/', 'errors.ts', 'option-rules.ts', 'system/'],
    oursAsTypes: ['queue/queue.ts', 'incident/'],
    external: [
      'classic-level',
      'node:crypto',
      'node:diagnostics_channel',
      'node:fs/promises',
      'node:path',
      'node:zlib',
    ],
  },
  {
    // A queue knows no other one.
    files: ['queue/memory.ts', 'queue/memory/'],
    ours: ['queue/memory/', 'queue/in-process/', 'errors.ts', 'system/'],
    oursAsTypes: ['queue/queue.ts'],
    external: [],
  },
  {
    files: ['queue/postgres.ts', 'queue/postgres/'],
    ours: ['queue/postgres/', 'errors.ts', 'option-rules.ts', 'system/'],
    oursAsTypes: ['queue/queue.ts', 'incident/'],
    external: ['pg'],
  },
  {
    files: ['webhook/wire/'],
    ours: ['errors.ts', 'system/', 'address/'],
    oursAsTypes: ['webhook/outcome.ts'],
    external: ['undici', 'node:net', 'node:dns', 'node:tls'],
  },
  {
    // The composition: the only file that knows a queue by name.
    files: ['webhook/engine/create-sender.ts'],
    ours: ['webhook/', 'contract/', 'errors.ts', 'queue/memory/', 'settings/', 'system/'],
    oursAsTypes: ['queue/queue.ts'],
    external: [],
  },
  {
    files: ['webhook/engine/observe.ts'],
    ours: ['webhook/engine/'],
    external: ['node:diagnostics_channel'],
  },
  {
    // Pure: what they need of time, chance and ids they are given.
    files: [
      'webhook/engine/byte-budget.ts',
      'webhook/engine/event-words.ts',
      'webhook/engine/events.ts',
      'webhook/engine/explain-schedule.ts',
      'webhook/engine/lane.ts',
      'webhook/engine/occasion.ts',
      'webhook/engine/policy.ts',
      'webhook/engine/settlement.ts',
      'webhook/engine/skip.ts',
      'webhook/engine/slots.ts',
      'webhook/engine/test-message.ts',
      'webhook/engine/tracker.ts',
      'webhook/engine/verdicts.ts',
    ],
    ours: ['webhook/', 'errors.ts', 'option-rules.ts'],
    oursAsTypes: ['projection/', 'queue/queue.ts', 'settings/', 'system/'],
    external: [],
  },
  {
    files: ['webhook/engine/'],
    ours: [
      'webhook/',
      'contract/',
      'errors.ts',
      'option-rules.ts',
      'projection/downgrade.ts',
      'settings/routing.ts',
      'settings/schema.ts',
      'system/',
    ],
    oursAsTypes: ['queue/', 'settings/'],
    external: [],
  },
  { files: ['webhook/signature.ts'], ours: ['errors.ts'], external: ['node:crypto'] },
  {
    files: [
      'webhook/accept.ts',
      'webhook/backlog.ts',
      'webhook/common-options.ts',
      'webhook/direct-sending.ts',
      'webhook/draft-reader.ts',
      'webhook/read-messages.ts',
      'webhook/request-headers.ts',
      'webhook/send-now.ts',
      'webhook/send-options.ts',
    ],
    ours: ['webhook/', 'contract/', 'errors.ts', 'option-rules.ts', 'system/'],
    oursAsTypes: ['queue/queue.ts'],
    external: [],
  },
  {
    // Pure: what they need of time, chance and ids they are given.
    files: [
      'webhook/encoder.ts',
      'webhook/outcome.ts',
      'webhook/report.ts',
      'webhook/retry-after.ts',
      'webhook/retry.ts',
      'webhook/shared-bytes.ts',
      'webhook/split.ts',
      'webhook/user-agent.ts',
    ],
    ours: ['errors.ts'],
    oursAsTypes: ['contract/', 'queue/queue.ts', 'system/', 'webhook/'],
    external: [],
  },
  {
    files: ['capture/trusted-proxies.ts'],
    ours: ['capture/', 'address/', 'errors.ts'],
    external: ['proxy-addr'],
  },
  {
    // Pure: what they say depends on the request and the options alone.
    files: [
      'capture/client-address.ts',
      'capture/explain-client-address.ts',
      'capture/forwarded-element.ts',
      'capture/forwarded-for.ts',
      'capture/forwarded-origin.ts',
      'capture/header-list.ts',
      'capture/request-like.ts',
    ],
    ours: ['capture/', 'address/', 'errors.ts'],
    external: [],
  },
  {
    files: ['capture/request-scope.ts'],
    ours: ['contract/', 'capture/request-story.ts', 'system/ambient.ts'],
    external: [],
  },
  { files: ['capture/span-exception.ts'], ours: ['system/tracers.ts'], external: [] },
  {
    files: ['capture/maxmind-enricher.ts'],
    ours: ['capture/', 'errors.ts', 'option-rules.ts', 'system/'],
    external: ['maxmind'],
  },
  {
    files: ['capture/network-list-enricher.ts'],
    ours: ['capture/', 'errors.ts', 'option-rules.ts'],
    external: ['node:fs'],
  },
  {
    files: ['capture/node-http.ts', 'capture/request-blocked-error.ts'],
    ours: ['capture/'],
    external: ['node:http'],
  },
  {
    files: ['capture/foreign-value.ts'],
    ours: ['capture/'],
    external: ['node:util'],
  },
  {
    // Of parameters, texts and addresses: what they do follows from what they are given.
    files: [
      'capture/address-ranges.ts',
      'capture/blocked-answer.ts',
      'capture/body-source.ts',
      'capture/byte-room.ts',
      'capture/capture-options.ts',
      'capture/card-number.ts',
      'capture/clean-text.ts',
      'capture/country-codes.ts',
      'capture/describe-address.ts',
      'capture/enrichers.ts',
      'capture/enrichment.ts',
      'capture/express.ts',
      'capture/fastify.ts',
      'capture/fetch-request.ts',
      'capture/hono-request.ts',
      'capture/hono.ts',
      'capture/http-request.ts',
      'capture/index.ts',
      'capture/late-answers.ts',
      'capture/login-identifiers.ts',
      'capture/login-reporter.ts',
      'capture/login-watch.ts',
      'capture/own-text.ts',
      'capture/passport.ts',
      'capture/plain-copy.ts',
      'capture/plain-parameters.ts',
      'capture/redaction.ts',
      'capture/request-capture.ts',
      'capture/request-story.ts',
      'capture/request-text.ts',
      'capture/secret-finder.ts',
      'capture/secret-shapes.ts',
      'capture/sensitive-keys.ts',
    ],
    ours: ['capture/', 'address/', 'contract/', 'errors.ts', 'option-rules.ts', 'system/'],
    external: [],
  },
  {
    files: ['receiver/signature-variants.ts'],
    ours: ['receiver/'],
    external: ['node:zlib'],
  },
  {
    files: ['receiver/'],
    ours: [
      'receiver/',
      'contract/',
      'errors.ts',
      'option-rules.ts',
      'system/',
      'webhook/signature.ts',
    ],
    external: ['node:crypto'],
  },
  {
    files: ['testing/'],
    ours: ['contract/index.ts', 'errors.ts', 'system/', 'webhook/signature.ts'],
    oursAsTypes: ['queue/queue.ts'],
    external: [
      'node:crypto',
      'node:events',
      'node:http',
      'node:net',
      'node:stream',
      'node:tls',
      'node:zlib',
    ],
  },
  {
    files: ['cli/process-terminal.ts'],
    ours: ['cli/', 'system/clock.ts'],
    external: ['node:fs'],
  },
  {
    files: ['cli/'],
    ours: [
      'cli/',
      'index.ts',
      'contract/index.ts',
      'queue/index.ts',
      'queue/level.ts',
      'queue/postgres.ts',
      'receiver/index.ts',
      'settings/index.ts',
      'testing/index.ts',
    ],
    external: [
      'node:buffer',
      'node:events',
      'node:fs',
      'node:fs/promises',
      'node:http',
      'node:https',
      'node:net',
      'node:os',
      'node:path',
      'node:stream',
      'node:util',
    ],
  },
];
