/** What is wrong with a settings file, and what is allowed and likely to be regretted. */
import { readFile, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import { generateSecret, SecurityEventError } from '../../index.ts';
import {
  createConfiguration,
  type DestinationWarning,
  type SettingsFile,
  type SettingsStore,
  settingsFile,
} from '../../settings/index.ts';
import { about } from '../failure.ts';

/** Where it is, what was expected there and what was found; no value. */
export interface Fault {
  readonly path: readonly string[];
  readonly message: string;
}

export interface Warning {
  readonly path: readonly string[];
  readonly warning: DestinationWarning | 'readable-by-others';
}

export interface CheckedFile {
  readonly applications: number;
  readonly faults: readonly Fault[];
  readonly warnings: readonly Warning[];
}

interface Destination {
  readonly path: readonly string[];
  readonly url: string;
  readonly secret: string;
}

function faultsOf(error: unknown): readonly Fault[] {
  if (!(error instanceof SecurityEventError)) throw error;
  const { issues, path, message } = error;
  const found = issues.length > 0 ? issues : [{ path, message }];
  return found.map((issue) => ({ path: issue.path.map(String), message: issue.message }));
}

/** As the sender will read it. */
function readAsSender(file: string, areSecretsElsewhere: boolean): SettingsFile {
  const settings = settingsFile(file, areSecretsElsewhere ? { secretOf: generateSecret } : {});
  settings.close();
  return settings;
}

async function saved(text: string, settings: SettingsFile): Promise<readonly Destination[]> {
  const { applications } = JSON.parse(text.replace(/^\uFEFF/, '')) as {
    readonly applications: object;
  };
  const found: Destination[] = [];
  for (const id of Object.keys(applications)) {
    const { url, secret } = settings(id) ?? {};
    if (url === undefined || secret === undefined) continue;
    const told = typeof secret === 'function' ? await secret() : secret;
    found.push({ path: ['applications', id], url, secret: told });
  }
  return found;
}

/** The sender does not look at them. */
async function drafts(file: string): Promise<readonly Destination[]> {
  const configuration = createConfiguration({ file });
  const { applications } = await configuration.describe();
  const found: Destination[] = [];
  for (const [id, { draftUrl }] of Object.entries(applications)) {
    const secret = await configuration.secretOf(id, { of: 'draft' });
    if (draftUrl === undefined || secret === undefined) continue;
    found.push({ path: ['drafts', id], url: draftUrl, secret });
  }
  return found;
}

type Judged = Pick<CheckedFile, 'faults' | 'warnings'>;

const KEEPS_NOTHING: SettingsStore = {
  read: () => Promise.resolve(undefined),
  update: (change) => {
    change(undefined);
    return Promise.resolve();
  },
};

/** By the flow of configuring, over a store that keeps nothing: it judges URLs before anything is sent. */
async function judged({ path, url, secret }: Destination): Promise<Judged> {
  try {
    const { warnings } = await createConfiguration({ store: KEEPS_NOTHING }).setWebhook(
      'any',
      url,
      { secret },
    );
    return { faults: [], warnings: warnings.map((warning) => ({ path, warning })) };
  } catch (error) {
    const faults = faultsOf(error).map((fault) => ({ ...fault, path: [...path, ...fault.path] }));
    return { faults, warnings: [] };
  }
}

/** Windows has no such modes. */
async function modeWarnings(file: string): Promise<readonly Warning[]> {
  if (sep !== '/') return [];
  const { mode } = await stat(file);
  return (mode & 0o077) === 0 ? [] : [{ path: [], warning: 'readable-by-others' }];
}

/** Rejects with Node's error where the file cannot be read. */
export async function checkFile(file: string, areSecretsElsewhere: boolean): Promise<CheckedFile> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw about(file, error);
  });
  const warnings = [...(await modeWarnings(file))];
  const faults: Fault[] = [];
  const destinations: Destination[] = [];
  let applications = 0;
  try {
    // First, since it tells faults of drafts and of applications together.
    const unsaved = areSecretsElsewhere ? [] : await drafts(file);
    destinations.push(...(await saved(text, readAsSender(file, areSecretsElsewhere))));
    applications = destinations.length;
    destinations.push(...unsaved);
  } catch (error) {
    faults.push(...faultsOf(error));
  }
  for (const destination of destinations) {
    const found = await judged(destination);
    faults.push(...found.faults);
    warnings.push(...found.warnings);
  }
  return { applications, faults, warnings };
}
