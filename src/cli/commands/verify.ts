import { verify } from '../../index.ts';
import { defineCommand, type OptionTable } from '../command.ts';
import { misuse } from '../failure.ts';
import { openInput, readWhole } from '../input.ts';
import { jsonLine } from '../json-line.ts';
import { requireSecrets, SECRETS_OPTIONS } from '../secrets.ts';
import { paint } from '../terminal.ts';

/** Far above what a request may have; a file by mistake should not fill the memory. */
export const MAX_BODY_BYTES = 256 * 1024 * 1024;

export const SIGNED_BODY = {
  name: 'FILE',
  what: 'the raw body, byte for byte; - or nothing for standard input',
} as const;

export const SIGNATURE_OPTION = {
  signature: {
    type: 'string',
    value: 'HEADER',
    what: 'the value of the header X-Svc-Integrity, as it was received',
  },
} as const satisfies OptionTable;

/** An empty one counts: it is what some senders send. */
export function requireSignature(signature: string | undefined): string {
  if (signature !== undefined) return signature;
  throw misuse('--signature is missing: the value of the header X-Svc-Integrity');
}

export const verifyCommand = defineCommand({
  summary: 'says whether a signature belongs to a body: exit code 0 for yes, 1 for no',
  words: [SIGNED_BODY],
  options: {
    ...SIGNATURE_OPTION,
    ...SECRETS_OPTIONS,
    json: { type: 'boolean', what: 'prints {"isGenuine":true} or {"isGenuine":false}' },
  },
  notes: [
    [
      'It takes exactly what a receiver may take: 64 lower-case hex digits. security-events explain says why',
      'another does not fit.',
    ].join('\n'),
  ],
  examples: [
    {
      command:
        'printf 4567 | SECURITY_EVENTS_SECRET=1234 security-events verify --signature 9d101d2bf630748679226b767d2031634c520390ff0e926afc09bc65a05bfdb2',
      what: 'yes, by the secret of the environment',
    },
    {
      command:
        'security-events verify body.json --signature "$HEADER" --secret-file new.secret --secret-file old.secret',
      what: 'while a secret is being changed: one of both',
    },
  ],
  async run({ options, words, terminal }) {
    const signature = requireSignature(options.signature);
    const secrets = await requireSecrets(options, terminal);
    const body = await readWhole(openInput(words[0], terminal), MAX_BODY_BYTES);
    const isGenuine = verify(body, signature, secrets);
    const text = isGenuine
      ? paint(terminal.output, 'green', 'The signature fits.')
      : `${paint(terminal.output, 'red', 'The signature does not fit.')} security-events explain says why.`;
    await terminal.output.write(options.json ? jsonLine({ isGenuine }) : `${text}\n`);
    return isGenuine ? 0 : 1;
  },
});
