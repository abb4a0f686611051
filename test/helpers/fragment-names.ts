/** A module that declares the names which fragments of the guides leave out: imports and the reader's own. */
export const FRAGMENT_NAMES = `
  type Exports = typeof import('security-event-delivery') &
    typeof import('security-event-delivery/capture') &
    typeof import('security-event-delivery/express') &
    typeof import('security-event-delivery/passport') &
    typeof import('security-event-delivery/queue') &
    typeof import('security-event-delivery/queue/postgres') &
    typeof import('security-event-delivery/queue/sqlite') &
    typeof import('security-event-delivery/settings');
  declare global {
    ${[
      'captureRequests createEnrichment createLogWriter createPostgresQueue createPostgresSchema',
      'createSqliteQueue createWebhookSender describeAddress exportQueue importQueue',
      'networkListEnricher reportLogins settingsCache settingsFile',
    ]
      .flatMap((line) => line.split(' '))
      .map((name) => `const ${name}: Exports['${name}'];`)
      .join('\n    ')}
    type DuplicateStore = import('security-event-delivery/receiver').DuplicateStore;
    const ProxyAgent: typeof import('undici').ProxyAgent;
    const trace: import('@opentelemetry/api').TraceAPI;
    const passport: import('passport').PassportStatic;
    const connection: string;
    const path: string;
    const url: string;
    const secret: string;
    const ids: Set<string>;
    const server: import('node:http').Server;
    const reporter: import('security-event-delivery').Reporter;
    const sender: import('security-event-delivery').WebhookSender;
    const messages: import('security-event-delivery').MessageToSend[];
    const database: {
      findWebhook(id: string): ReturnType<import('security-event-delivery').SettingsFunction>;
    };
    function save(content: object): Promise<void>;
    function secretFromVault(): Promise<string>;
  }
  export {};
`;
