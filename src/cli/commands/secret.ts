import { generateSecret } from '../../index.ts';
import { defineCommand } from '../command.ts';

export const secretCommand = defineCommand({
  summary: 'makes a secret: 32 random bytes as 64 hex digits, for both ends of a webhook',
  words: [],
  options: {},
  examples: [
    {
      command: '(umask 077; security-events secret > webhook.secret)',
      what: 'keeps it in a file that nobody else may read, for --secret-file',
    },
  ],
  async run({ terminal }) {
    await terminal.output.write(`${generateSecret()}\n`);
    return 0;
  },
});
