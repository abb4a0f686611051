/**
 * Every command, in the order of help. A command is loaded when it is called, so that a quick one does
 * not wait for the modules of the others; its summary stands here for the same reason.
 */
import type { Command, CommandGroup } from './command.ts';

export interface CommandEntry {
  readonly summary: string;
  readonly load: () => Promise<Command | CommandGroup>;
}

export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  listen: {
    summary: 'receives webhooks, verifies them and shows what came in',
    load: async () => (await import('./commands/listen.ts')).listenCommand,
  },
  test: {
    summary: 'sends one test message to a webhook',
    load: async () => (await import('./commands/test.ts')).testCommand,
  },
  send: {
    summary: 'sends messages from a file or standard input to a webhook',
    load: async () => (await import('./commands/send.ts')).sendCommand,
  },
  sign: {
    summary: 'prints the signature of a body',
    load: async () => (await import('./commands/sign.ts')).signCommand,
  },
  secret: {
    summary: 'makes a secret',
    load: async () => (await import('./commands/secret.ts')).secretCommand,
  },
  schema: {
    summary: 'prints a JSON Schema of the contract',
    load: async () => (await import('./commands/schema.ts')).schemaCommand,
  },
  verify: {
    summary: 'says whether a signature belongs to a body',
    load: async () => (await import('./commands/verify.ts')).verifyCommand,
  },
  explain: {
    summary: 'says why a signature does not fit',
    load: async () => (await import('./commands/explain.ts')).explainCommand,
  },
  validate: {
    summary: 'checks records, log lines and messages against the contract',
    load: async () => (await import('./commands/validate.ts')).validateCommand,
  },
  schedule: {
    summary: 'shows when a message that always fails is sent again',
    load: async () => (await import('./commands/schedule.ts')).scheduleCommand,
  },
  settings: {
    summary: 'configures where webhook messages go, in a settings file',
    load: async () => (await import('./commands/settings.ts')).settingsCommands,
  },
  dead: {
    summary: 'lists, shows, replays and discards the dead letters of a durable queue',
    load: async () => (await import('./commands/dead.ts')).deadCommands,
  },
};
