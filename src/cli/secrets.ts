/** Reads secrets from the environment or from files, never from arguments. */
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { list, type OptionValues } from './command.ts';
import { usageError, withPath } from './errors.ts';
import type { Terminal } from './terminal.ts';

const DEFAULT_SECRET_VARIABLE = 'SECURITY_EVENTS_SECRET';

/** For commands that sign with one secret: they refuse several. */
export const SECRET_OPTIONS = {
  'secret-env': list(
    'NAME',
    `Environment variable with the secret. Default ${DEFAULT_SECRET_VARIABLE}.`,
  ),
  'secret-file': list('PATH', 'File with the secret.'),
} as const;

/** For commands that verify, which accept the old and the new secret during a rotation. */
export const SECRETS_OPTIONS = {
  'secret-env': list('NAME', `${SECRET_OPTIONS['secret-env'].help} Repeat to accept several.`),
  'secret-file': list('PATH', `${SECRET_OPTIONS['secret-file'].help} Repeat to accept several.`),
} as const;

export type SecretOptions = OptionValues<typeof SECRET_OPTIONS>;

function fromVariable(name: string, environment: Terminal['environment']): string {
  const secret = environment[name];
  if (secret !== undefined && secret !== '') return secret;
  // Anything that does not look like a name may be the secret itself, given by mistake.
  const shown = /^[A-Za-z_]\w{0,39}$/.test(name) ? name : 'named by --secret-env';
  throw usageError(`the environment variable ${shown} is empty or not set`);
}

async function fromFile(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw withPath(path, error);
  });
  if (!isUtf8(bytes)) {
    // Decoding would silently turn it into another secret.
    throw usageError(
      `${path} is not UTF-8 text`,
      'Windows PowerShell writes UTF-16 by default. Store random bytes as hex digits.',
    );
  }
  // Editors add a byte order mark and a line end. Other white space may be part of the secret.
  const secret = bytes
    .toString()
    .replace(/^\uFEFF/, '')
    .replace(/\r?\n$/, '');
  if (secret === '') throw usageError(`${path} is empty: expected the secret`);
  return secret;
}

/** Reads every secret the options name, in order; without options, the default variable if it is set. */
export async function readSecrets(
  options: SecretOptions,
  { environment }: Terminal,
): Promise<readonly string[]> {
  const { 'secret-env': names = [], 'secret-file': paths = [] } = options;
  const secrets = names.map((name) => fromVariable(name, environment));
  for (const path of paths) secrets.push(await fromFile(path));
  const fromDefault = environment[DEFAULT_SECRET_VARIABLE];
  return secrets.length > 0 || fromDefault === undefined || fromDefault === ''
    ? secrets
    : [fromDefault];
}

/** Returns the arguments with which another command uses the first secret; none for the default variable. */
export function firstSecretArguments(options: SecretOptions): readonly string[] {
  const { 'secret-env': [variable] = [], 'secret-file': [file] = [] } = options;
  if (variable !== undefined) return ['--secret-env', variable];
  return file === undefined ? [] : ['--secret-file', file];
}

/** @throws CommandError with exit code 2 if there is none. */
export async function requireSecrets(
  options: SecretOptions,
  terminal: Terminal,
): Promise<readonly [string, ...string[]]> {
  const [first, ...rest] = await readSecrets(options, terminal);
  if (first !== undefined) return [first, ...rest];
  throw usageError(
    'no secret given',
    `Set ${DEFAULT_SECRET_VARIABLE}, or use --secret-env NAME or --secret-file PATH. ` +
      '`security-events secret` generates one.',
  );
}

/** Refuses several secrets: all but one would be ignored. */
export function checkOneSecret(options: SecretOptions): void {
  const { 'secret-env': names = [], 'secret-file': paths = [] } = options;
  if (names.length > 0 && paths.length > 0) {
    throw usageError('give --secret-env or --secret-file, not both');
  }
  if (names.length > 1) throw usageError('give --secret-env once');
  if (paths.length > 1) throw usageError('give --secret-file once');
}

/** @throws CommandError with exit code 2 if there is none, or if several are named. */
export async function requireSecret(options: SecretOptions, terminal: Terminal): Promise<string> {
  checkOneSecret(options);
  return (await requireSecrets(options, terminal))[0];
}
