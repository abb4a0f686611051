/** The queue that all processes of the fleet share. */
import process from 'node:process';
import { createPostgresQueue, type DurableQueue } from 'security-event-delivery/queue/postgres';

/** Three web applications. Their agents do not know where the messages go. */
export const APPLICATIONS = ['shop', 'warehouse', 'forum'] as const;

export const MESSAGES_OF_AN_AGENT = 300;

export function openQueue(): DurableQueue {
  const { DATABASE_URL = '' } = process.env;
  // Several servers of a cluster: the queue finds the one that takes writes, also after a failover.
  return createPostgresQueue({ connection: DATABASE_URL.split(' '), callTimeoutMs: 5000 });
}
