import { sign } from '../../index.ts';
import { defineCommand } from '../command.ts';
import { openInput, readWhole } from '../input.ts';
import { requireSecrets, SECRET_OPTIONS } from '../secrets.ts';

/** Far above what a request may have; a file by mistake should not fill the memory. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;

export const signCommand = defineCommand({
  summary: 'prints the signature of a body: the value of the header X-Svc-Integrity',
  words: [{ name: 'FILE', what: 'the body, byte for byte; - or nothing for standard input' }],
  options: { ...SECRET_OPTIONS },
  examples: [
    {
      command: "printf '%s' '[]' | SECURITY_EVENTS_SECRET=1234 security-events sign",
      what: 'the signature of two bytes; echo would sign a line end, too',
    },
    {
      command: 'security-events sign body.json --secret-file webhook.secret',
      what: 'the signature of a file',
    },
  ],
  async run({ options, words, terminal }) {
    const [secret] = await requireSecrets(options, terminal);
    const body = await readWhole(openInput(words[0], terminal), MAX_BODY_BYTES);
    await terminal.output.write(`${sign(body, secret)}\n`);
    return 0;
  },
});
