/** Types of settings: a file, a function, and `createConfiguration`. */
import { createWebhookSender, type SettingsSource } from '../../src/index.ts';
import {
  type CachedSettings,
  type ChosenWebhook,
  type Configuration,
  createConfiguration,
  type DestinationWarning,
  type SettingsFile,
  type scheduledSecret,
  settingsCache,
  settingsFile,
} from '../../src/settings.ts';
import { type Equal, type IsAny, same } from './equal-types.ts';

same<Equal<IsAny<SettingsFile>, false>>();
same<Equal<IsAny<ReturnType<CachedSettings>>, false>>();
same<Equal<ReturnType<typeof settingsFile>, SettingsFile>>();
same<Equal<ReturnType<typeof scheduledSecret>, () => string>>();
same<Equal<Awaited<ReturnType<Configuration['setWebhook']>>, ChosenWebhook>>();
same<Equal<ChosenWebhook['warnings'], readonly DestinationWarning[]>>();
same<Equal<Awaited<ReturnType<Configuration['test']>>['tested'], 'draft' | 'saved'>>();

export const sources: readonly SettingsSource[] = [
  settingsFile('settings.json', { pollMs: 100 }),
  settingsCache(settingsFile('settings.json'), { maxAgeMs: 1000 }),
  // @ts-expect-error: an age has its unit in its name
  settingsCache(() => undefined, { maxAge: 1000 }),
];
export const sender = createWebhookSender({ settings: settingsFile('settings.json') });

const configuration = createConfiguration({ file: 'settings.json', network: 'public' });
await configuration.selectModules('shop', { waf: true });
await configuration.selectPlaybooks('shop', 'all');
same<Equal<ReturnType<Configuration['remove']>, Promise<boolean>>>();
// @ts-expect-error: a module sends or it does not
await configuration.selectModules('shop', { waf: 'yes' });
// @ts-expect-error: a time is a Date or text
await configuration.rotateSecret('shop', { from: 1 });
// @ts-expect-error: the format only goes up
await configuration.upgradeFormat(1);
