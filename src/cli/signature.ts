/** `secret`, `sign` and `verify`. */
import { generateSecret, sign, verify } from '../index.ts';
import { explainSignature, type SignatureExplanation } from '../receiver/index.ts';
import { defineCommand, JSON_OPTION, option } from './command.ts';
import { usageError } from './errors.ts';
import { readBody } from './input.ts';
import { requireSecret, requireSecrets, SECRET_OPTIONS, SECRETS_OPTIONS } from './secrets.ts';
import { jsonLine, paint } from './terminal.ts';

const generation = defineCommand({
  summary: 'Generates a webhook secret: 32 random bytes as 64 hex digits.',
  usage: '',
  options: {},
  examples: ['(umask 077; security-events secret > hook.secret)'],
  async run({ terminal }) {
    await terminal.output.write(`${generateSecret()}\n`);
    return 0;
  },
});

const signing = defineCommand({
  summary: 'Prints the signature of a body: the value of the X-Svc-Integrity header.',
  usage: '[FILE]',
  options: SECRET_OPTIONS,
  notes: ['Reads standard input if FILE is missing or `-`.'],
  examples: [
    'security-events sign body.json --secret-file hook.secret',
    '# printf, because echo would add a line end to the body',
    "printf '%s' '[]' | security-events sign",
  ],
  async run({ options, positionals: [file], terminal }) {
    const secret = await requireSecret(options, terminal);
    await terminal.output.write(`${sign(await readBody(file, terminal), secret)}\n`);
    return 0;
  },
});

/** Returns the proven explanation, or else the one for the first secret. */
export function explainBest(
  body: string | Uint8Array | undefined,
  signature: string | undefined,
  secrets: readonly string[],
): SignatureExplanation {
  const found = secrets.map((secret) => explainSignature(body, signature, secret));
  return (found.find(({ isProven }) => isProven) ?? found[0]) as SignatureExplanation;
}

export const explanationText = ({ isProven, text }: SignatureExplanation): string =>
  `${isProven ? 'Cause' : 'Probable cause'}: ${text}`;

const verification = defineCommand({
  summary: 'Verifies the signature of a body, and explains why it does not match.',
  usage: '[FILE]',
  options: {
    signature: option('HEADER', 'Value of the X-Svc-Integrity header, as received.'),
    ...SECRETS_OPTIONS,
    ...JSON_OPTION,
  },
  notes: [
    'FILE is the raw body, byte for byte; standard input if missing or `-`. If the signature does not ' +
      'match, looks for common causes, such as a `sha256=` prefix, a changed body or white space in the secret. ' +
      'Exits with 1 if it does not match.',
  ],
  examples: [
    'security-events verify body.json --signature "$HEADER" --secret-file hook.secret',
    '# During a rotation: accept the new and the old secret',
    'security-events verify body.json --signature "$HEADER" --secret-file new --secret-file old',
  ],
  async run({ options, positionals: [file], terminal }) {
    const { signature, json } = options;
    if (signature === undefined) {
      throw usageError('--signature is missing: the value of the X-Svc-Integrity header');
    }
    const secrets = await requireSecrets(options, terminal);
    const body = await readBody(file, terminal);
    const { output } = terminal;
    if (verify(body, signature, secrets)) {
      const matches = `${paint(output, 'green', 'The signature matches.')}\n`;
      await output.write(json ? jsonLine({ isValid: true }) : matches);
      return 0;
    }
    const explanation = explainBest(body, signature, secrets);
    const { isProven, faults, text: advice } = explanation;
    const facts = { isValid: false, faults, isProven, text: advice };
    const verdict = paint(output, 'red', 'The signature does not match.');
    await output.write(json ? jsonLine(facts) : `${verdict}\n${explanationText(explanation)}\n`);
    return 1;
  },
});

export const commands = { secret: generation, sign: signing, verify: verification };
