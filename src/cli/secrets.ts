/** Where commands get secrets: from the environment or from files, never from arguments. */
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import type { OptionTable, OptionValues } from './command.ts';
import { about, misuse } from './failure.ts';
import type { Terminal } from './terminal.ts';

export const DEFAULT_SECRET_VARIABLE = 'SECURITY_EVENTS_SECRET';

/** For commands that sign: one secret. */
export const SECRET_OPTIONS = {
  'secret-env': {
    type: 'string',
    value: 'NAME',
    what: `environment variable that holds the secret (${DEFAULT_SECRET_VARIABLE})`,
  },
  'secret-file': {
    type: 'string',
    value: 'PATH',
    what: 'file that holds the secret; a line end after it does not belong to it',
  },
} as const satisfies OptionTable;

/** For commands that verify: several, as while a secret is being changed. */
export const SECRETS_OPTIONS = {
  'secret-env': {
    ...SECRET_OPTIONS['secret-env'],
    multiple: true,
    what: `${SECRET_OPTIONS['secret-env'].what}; again for the one before`,
  },
  'secret-file': {
    ...SECRET_OPTIONS['secret-file'],
    multiple: true,
    what: `${SECRET_OPTIONS['secret-file'].what}; again for the one before`,
  },
} as const satisfies OptionTable;

type SecretOptions = OptionValues<typeof SECRET_OPTIONS> | OptionValues<typeof SECRETS_OPTIONS>;

const listOf = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;

function fromVariable(name: string, environment: Terminal['environment']): string {
  const secret = environment[name];
  if (secret !== undefined && secret !== '') return secret;
  // What is no name may be the secret itself, by mistake.
  const told = /^[A-Za-z_]\w{0,39}$/.test(name) ? name : 'that --secret-env names';
  throw misuse(`the environment variable ${told} is not set or empty: it should hold the secret`);
}

async function fromFile(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw about(path, error);
  });
  if (!isUtf8(bytes)) {
    // Read as text it would be another secret than the one that was meant.
    throw misuse(
      `${path} is not text in UTF-8`,
      'Windows PowerShell writes UTF-16 unless it is told otherwise; of random bytes take the hex digits.',
    );
  }
  // What editors put before and after it. Further white space may be part of a secret.
  const secret = bytes
    .toString()
    .replace(/^\uFEFF/, '')
    .replace(/\r?\n$/, '');
  if (secret === '') throw misuse(`${path} is empty: it should hold the secret`);
  return secret;
}

/** Every secret that the options name, in their order; without options, the default variable's, if set. */
export async function readSecrets(
  options: SecretOptions,
  { environment }: Terminal,
): Promise<readonly string[]> {
  const names = listOf(options['secret-env']);
  const files = listOf(options['secret-file']);
  const named = names.map((name) => fromVariable(name, environment));
  for (const path of files) named.push(await fromFile(path));
  if (named.length > 0) return named;
  const usual = environment[DEFAULT_SECRET_VARIABLE];
  return usual === undefined || usual === '' ? [] : [usual];
}

/** The secrets that a command cannot do without. @throws CommandFailure with exit code 2. */
export async function requireSecrets(
  options: SecretOptions,
  terminal: Terminal,
): Promise<readonly [string, ...string[]]> {
  const [first, ...rest] = await readSecrets(options, terminal);
  if (first !== undefined) return [first, ...rest];
  throw misuse(
    'there is no secret',
    `Set ${DEFAULT_SECRET_VARIABLE}, or use --secret-env NAME or --secret-file PATH; \`security-events secret\` makes one.`,
  );
}
