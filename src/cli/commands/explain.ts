import { explainSignature, type SignatureExplanation } from '../../receiver/index.ts';
import { defineCommand } from '../command.ts';
import { openInput, readWhole } from '../input.ts';
import { jsonLine } from '../json-line.ts';
import { requireSecrets, SECRETS_OPTIONS } from '../secrets.ts';
import { paint, type TerminalOutput } from '../terminal.ts';
import { requireSignature, SIGNATURE_OPTION, SIGNED_BODY } from './verify.ts';

/** Some hundred signatures are made of it, and texts: more would take minutes. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** Of several secrets that one which fits, as it is or once faults are undone. */
function best(explanations: readonly SignatureExplanation[]): SignatureExplanation {
  return (
    explanations.find(({ isValid }) => isValid) ??
    explanations.find(({ isProven }) => isProven) ??
    (explanations[0] as SignatureExplanation)
  );
}

function words(output: TerminalOutput, explanation: SignatureExplanation): string {
  const { isValid, isProven, faults, text } = explanation;
  if (isValid) return `${paint(output, 'green', 'Genuine.')} ${text}\n`;
  const verdict = isProven
    ? `${paint(output, 'red', 'Proven')}, since the signature fits once this is undone`
    : `${paint(output, 'yellow', 'Guessed')}, since it fits after none of the usual mistakes`;
  return `${verdict}: ${faults.join(', ')}\n${text}\n`;
}

export const explainCommand = defineCommand({
  summary: 'says why a signature does not fit: what became of the body, the header or the secret',
  words: [SIGNED_BODY],
  options: {
    ...SIGNATURE_OPTION,
    ...SECRETS_OPTIONS,
    json: { type: 'boolean', what: 'prints what explainSignature() gives' },
  },
  notes: [
    [
      'The usual mistakes are undone, alone and by twos, until the signature fits: what fits is proven, and',
      'the rest is guessed. Exit code 0 where it fits as it is, 1 otherwise.',
    ].join('\n'),
  ],
  examples: [
    {
      command:
        'security-events explain body.json --signature "sha256=$HEX" --secret-file webhook.secret',
      what: 'the header has a prefix that does not belong to it',
    },
    {
      command: 'security-events explain --signature "$HEADER" --json < body.json',
      what: 'for a program, by the secret of SECURITY_EVENTS_SECRET',
    },
  ],
  async run({ options, words: [file], terminal }) {
    const signature = requireSignature(options.signature);
    const secrets = await requireSecrets(options, terminal);
    const body = await readWhole(openInput(file, terminal), MAX_BODY_BYTES);
    const explanation = best(secrets.map((secret) => explainSignature(body, signature, secret)));
    const { output } = terminal;
    await output.write(options.json ? jsonLine(explanation) : words(output, explanation));
    return explanation.isValid ? 0 : 1;
  },
});
