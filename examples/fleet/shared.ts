/** What the processes of the fleet know of each other. */
import process from 'node:process';
import { createJetStreamQueue } from 'security-event-delivery/queue/jetstream';
import { createPostgresQueue, type MessageQueue } from 'security-event-delivery/queue/postgres';

/** Three web applications, whose agents do not know where their messages go. */
export const APPLICATIONS = ['shop', 'warehouse', 'forum'] as const;

export const MESSAGES_OF_AN_AGENT = 300;

/** What the fleet's messages wait in. */
export interface Place {
  /** Where it is: what all processes are told. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** The one queue of all processes. */
export function openQueue(): MessageQueue {
  const { NATS_SERVERS, DATABASE_URL = '' } = process.env;
  return NATS_SERVERS === undefined
    ? createPostgresQueue({ connection: DATABASE_URL })
    : createJetStreamQueue({ connection: { servers: NATS_SERVERS.split(',') } });
}

export const say = (who: string, text: string): boolean =>
  process.stderr.write(`${who.padEnd(12)} ${text}\n`);
