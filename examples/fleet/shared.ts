/** What the processes of the fleet know of each other. */
import process from 'node:process';

/** Three web applications, whose agents do not know where their messages go. */
export const APPLICATIONS = ['shop', 'warehouse', 'forum'] as const;

export const MESSAGES_OF_AN_AGENT = 300;

/** Where the database is: the one environment variable that all of them have. */
export const connection = (): string => process.env['DATABASE_URL'] ?? '';

export const say = (who: string, text: string): boolean =>
  process.stderr.write(`${who.padEnd(12)} ${text}\n`);
