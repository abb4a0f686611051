/** A secret that a command makes is told once: to a file that nobody else may read, or where asked, on standard output. */
import { open, rm } from 'node:fs/promises';
import { generateSecret } from '../../index.ts';
import type { OptionTable, OptionValues } from '../command.ts';
import { misuse } from '../failure.ts';
import { printable } from '../printable.ts';
import { DEFAULT_SECRET_VARIABLE, readSecrets, SECRET_OPTIONS } from '../secrets.ts';
import type { Terminal } from '../terminal.ts';

export const CHOSEN_SECRET_OPTIONS = {
  'secret-env': {
    ...SECRET_OPTIONS['secret-env'],
    what: 'environment variable that holds the secret',
  },
  'secret-file': SECRET_OPTIONS['secret-file'],
  'secret-out': {
    type: 'string',
    value: 'PATH',
    what: 'makes a secret and keeps it in this new file, for its owner alone (mode 0600)',
  },
  'show-secret': {
    type: 'boolean',
    what: 'makes a secret and prints it, this once: terminals and logs keep what is printed',
  },
} as const satisfies OptionTable;

export type SecretChoice = OptionValues<typeof CHOSEN_SECRET_OPTIONS>;

export interface ChosenSecret {
  readonly secret: string;
  /** Where a new one is kept. */
  readonly file?: string;
  /** Whether it is to be printed. */
  readonly isShown: boolean;
  readonly isNew: boolean;
}

const OWNER_ONLY = 0o600;

async function keep(secret: string, path: string): Promise<void> {
  // `wx`: the file of another secret is not written over.
  const handle = await open(path, 'wx', OWNER_ONLY);
  try {
    await handle.writeFile(`${secret}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The secret that the options name or ask for; without any, `undefined`: not even the usual variable's. */
export async function chosenSecret(
  choice: SecretChoice,
  terminal: Terminal,
): Promise<ChosenSecret | undefined> {
  const {
    'secret-env': name,
    'secret-file': from,
    'secret-out': file,
    'show-secret': shows,
  } = choice;
  const given = [name, from].filter((option) => option !== undefined).length;
  const isMade = file !== undefined || shows === true;
  if (given + (isMade ? 1 : 0) > 1) {
    throw misuse('expected one secret: --secret-env, --secret-file, or a new one');
  }
  if (given === 1) {
    const [secret = ''] = await readSecrets(choice, terminal);
    return { secret, isShown: false, isNew: false };
  }
  if (!isMade) return undefined;
  const secret = generateSecret();
  if (file === undefined) return { secret, isShown: true, isNew: true };
  await keep(secret, file);
  return { secret, file, isShown: shows === true, isNew: true };
}

/** For an application that has none: the usual variable's. @throws CommandFailure with exit code 2 */
export async function usualSecret(terminal: Terminal): Promise<ChosenSecret> {
  const [secret] = await readSecrets({}, terminal);
  if (secret !== undefined) return { secret, isShown: false, isNew: false };
  throw misuse(
    'there is no secret',
    `Set ${DEFAULT_SECRET_VARIABLE}, use --secret-env NAME or --secret-file PATH, or make one with --secret-out PATH.`,
  );
}

/** Where what it was made for has failed, nobody needs the file. */
export async function forget({ file }: ChosenSecret): Promise<void> {
  if (file !== undefined) await rm(file, { force: true });
}

/** The secret itself is a result, where it was asked for. */
export const secretFacts = ({ secret, isShown }: ChosenSecret): { readonly secret?: string } =>
  isShown ? { secret } : {};

export async function tellSecretFile({ file }: ChosenSecret, { errors }: Terminal): Promise<void> {
  if (file === undefined) return;
  await errors.write(`The secret is in ${printable(file)}: give it to the receiver.\n`);
}
