/** What the processes of the fleet know of each other. */
import process from 'node:process';
import { createPostgresQueue, type MessageQueue } from 'security-event-delivery/queue/postgres';

/** Three web applications, whose agents do not know where their messages go. */
export const APPLICATIONS = ['shop', 'warehouse', 'forum'] as const;

export const MESSAGES_OF_AN_AGENT = 300;

/** The one queue of all processes. */
export function openQueue(): MessageQueue {
  const { DATABASE_URL = '' } = process.env;
  return createPostgresQueue({ connection: DATABASE_URL });
}

export const say = (who: string, text: string): boolean =>
  process.stderr.write(`${who.padEnd(12)} ${text}\n`);
