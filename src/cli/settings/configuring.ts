/** What the commands on a settings file share: its word and options, and errors in a person's terms. */
import { access, readFile } from 'node:fs/promises';
import { type NetworkPolicy, SecurityEventError } from '../../index.ts';
import { type Configuration, createConfiguration } from '../../settings/index.ts';
import type { ArgumentRow, OptionTable } from '../command.ts';
import { about, misuse, outage } from '../failure.ts';
import { wordOf } from '../option-values.ts';
import { printable } from '../printable.ts';

export const FILE_WORD: ArgumentRow = {
  name: 'FILE',
  what: 'the settings file, as `createConfiguration` writes it and `settingsFile` reads it',
  isRequired: true,
};

export const APPLICATION_OPTION = {
  application: { type: 'string', value: 'ID', what: 'id of the application' },
} as const satisfies OptionTable;

export const NETWORK_OPTION = {
  network: {
    type: 'string',
    value: 'public|allow-private',
    what: 'where the test may go; as in the sender that will deliver (public)',
  },
} as const satisfies OptionTable;

export const JSON_OPTION = {
  json: { type: 'boolean', what: 'the result as one JSON object' },
} as const satisfies OptionTable;

export function requireApplication(application: string | undefined): string {
  if (application !== undefined && application !== '') return application;
  throw misuse('--application is missing: the id of the application');
}

export const networkOf = (network: string | undefined): NetworkPolicy =>
  wordOf('network', network ?? 'public', ['public', 'allow-private']);

interface FileOptions {
  readonly network?: NetworkPolicy;
  /** Whether it need not be there. */
  readonly isMade?: boolean;
}

/** What went wrong, in terms of the command; holds no secret and no URL. */
function told(error: unknown, file: string): unknown {
  if (!(error instanceof SecurityEventError)) return error;
  const { code, cause } = error;
  if (code === 'ERR_UNKNOWN_APPLICATION') {
    return misuse(
      `${printable(file)} has no such application, or none with a URL and a secret`,
      `See \`security-events settings show ${printable(file)}\`.`,
    );
  }
  if (code === 'ERR_SETTINGS_FAILED') {
    return outage(
      `${printable(file)} is no valid settings file`,
      `\`security-events settings check ${printable(file)}\` names its faults.`,
    );
  }
  // What Node says of the file is more than that it failed.
  const isOfSystem = cause instanceof Error && 'code' in cause;
  return code === 'ERR_CONFIGURATION_FAILED' && isOfSystem ? cause : error;
}

/** Work on the file by the flow of the library. @throws CommandFailure, or Node's error about the file */
export async function configuring<T>(
  file: string,
  { network, isMade = false }: FileOptions,
  work: (configuration: Configuration) => Promise<T>,
): Promise<T> {
  // A name that is misspelt is not a file without applications.
  if (!isMade) await access(file);
  const configuration = createConfiguration({
    file,
    ...(network === undefined ? {} : { network }),
  });
  try {
    return await work(configuration);
  } catch (error) {
    throw about(file, told(error, file));
  }
}

/** A copy in memory, on which something is tried that the file is not to know of. */
export async function rehearsal(file: string, network: NetworkPolicy): Promise<Configuration> {
  let text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return createConfiguration({
    network,
    store: {
      read: () => Promise.resolve(text),
      update: (change) => {
        text = change(text);
        return Promise.resolve();
      },
    },
  });
}
