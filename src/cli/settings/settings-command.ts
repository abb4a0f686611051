/** Shared parts of the commands on a settings file: options, errors, output, and the result of a test. */
import { access } from 'node:fs/promises';
import { SecurityEventError } from '../../index.ts';
import {
  type Configuration,
  createConfiguration,
  type DestinationWarning,
  type SettingsStore,
  type TestedWebhook,
} from '../../settings.ts';
import {
  type Command,
  defineCommand,
  JSON_OPTION,
  type OptionTable,
  type OptionValues,
  option,
} from '../command.ts';
import { CommandError, environmentError, usageError, withPath } from '../errors.ts';
import { jsonLine, paint, printable, type Terminal } from '../terminal.ts';
import { type TestFacts, testFacts, testText, V1_ALIASES_OPTION } from '../test-report.ts';
import { networkOf } from '../values.ts';

export const APPLICATION_OPTION = {
  application: option('ID', 'Application id. Required.'),
} as const;

export function requireApplication(application: string | undefined): string {
  if (application !== undefined && application !== '') return application;
  throw usageError('--application is missing');
}

export const TEST_OPTIONS = {
  network: option(
    'public|allow-private',
    'public refuses private addresses. Default public, as in a sender.',
  ),
  ...V1_ALIASES_OPTION,
} as const;

export type TestOptions = OptionValues<typeof TEST_OPTIONS>;

export const testOptionsOf = ({ network = 'public', ...options }: TestOptions) => ({
  network: networkOf(network),
  v1Aliases: options['v1-aliases'] === true,
});

/** Returns a store in memory, to check or test settings without changing the file. */
export function memoryStore(content?: string): SettingsStore {
  let text = content;
  return {
    read: () => Promise.resolve(text),
    update: async (change) => {
      text = change(text);
    },
  };
}

export interface Result {
  readonly text: string;
  readonly facts: object;
  /** Whether the exit code is 0. Default true. */
  readonly isOk?: boolean;
}

interface SettingsCommand<T extends OptionTable> {
  readonly summary: string;
  readonly options: T;
  readonly notes?: readonly string[];
  /** Arguments after `security-events settings`. */
  readonly examples: readonly string[];
  /** Whether the command may create the file. */
  readonly creates?: boolean;
  readonly work: (call: {
    readonly configuration: Configuration;
    readonly file: string;
    readonly options: OptionValues<T>;
    readonly terminal: Terminal;
  }) => Promise<Result>;
}

export function settingsCommand<const T extends OptionTable>({
  summary,
  options: table,
  notes = [],
  examples,
  creates = false,
  work,
}: SettingsCommand<T>): Command {
  return defineCommand<OptionTable>({
    summary,
    usage: 'FILE',
    options: { ...table, ...JSON_OPTION },
    notes,
    examples: examples.map((line) => `security-events settings ${line}`),
    async run({ options, positionals: [file = ''], terminal }) {
      try {
        // A misspelled name must not look like a file without applications.
        if (!creates) await access(file);
        const configuration = createConfiguration({
          file,
          ...testOptionsOf(options),
        });
        const call = { configuration, file, options: options as OptionValues<T>, terminal };
        const { text, facts, isOk = true } = await work(call);
        await terminal.output.write(options['json'] ? jsonLine(facts) : text);
        return isOk ? 0 : 1;
      } catch (error) {
        throw withPath(file, describeIn(printable(file), error));
      }
    },
  });
}

/** Replaces library errors by command errors, which contain no secrets and URLs. */
function describeIn(file: string, error: unknown): unknown {
  if (!(error instanceof SecurityEventError)) return error;
  const { code, cause } = error;
  if (code === 'ERR_UNKNOWN_APPLICATION') {
    return new CommandError(
      1,
      `the application is not in ${file}, or has no URL and secret there`,
      `Run security-events settings show ${file}`,
    );
  }
  if (code === 'ERR_SETTINGS_FAILED') {
    const hint = `Run security-events settings check ${file}`;
    return environmentError(`${file} is not a valid settings file`, hint);
  }
  // The system error says more, such as that access is denied. Its own path may be that of the lock beside the file.
  const isSystem = cause instanceof Error && 'code' in cause;
  const isOfFile = code === 'ERR_CONFIGURATION_FAILED' && isSystem;
  return isOfFile ? Object.assign(cause, { path: file }) : error;
}

/** Prints the result of a test to standard error, and returns it for programs. */
export async function printTest(
  report: TestedWebhook,
  { errors }: Terminal,
): Promise<TestFacts & Pick<TestedWebhook, 'tested'>> {
  const facts = testFacts(report);
  await errors.write(testText(facts, 'the receiver', errors));
  return { ...facts, tested: report.tested };
}

export const WARNINGS: Readonly<Record<DestinationWarning | 'readable-by-others', string>> = {
  'plain-http': 'Others can read what is sent over http. The signature does not encrypt it.',
  'readable-by-others': 'The file contains secrets, and other users can read it. Run chmod 600.',
  'short-secret': 'The secret has fewer than 16 bytes and can be guessed.',
  'space-around-secret': 'The secret starts or ends with white space, which copying may lose.',
};

export async function printWarnings(
  warnings: readonly DestinationWarning[],
  { errors }: Terminal,
): Promise<void> {
  for (const warning of warnings) {
    await errors.write(`${paint(errors, 'yellow', warning)}: ${WARNINGS[warning]}\n`);
  }
}
